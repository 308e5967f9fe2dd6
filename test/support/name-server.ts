// A name server on loopback, whose answers the test writes and may change at any moment.
import { createSocket } from "node:dgram";
import { isIPv6 } from "node:net";

export interface NameServer {
  /** "127.0.0.1:port" */
  address: string;
  /** Name in lower case → addresses; a function is asked anew for every question. Others do not exist. */
  zone: Map<string, readonly string[] | (() => readonly string[])>;
  /** How many questions have come. */
  questions(): number;
  stop(): Promise<void>;
}

const types = { a: 1, aaaa: 28 };

export async function startNameServer(): Promise<NameServer> {
  const socket = createSocket("udp4");
  const zone: NameServer["zone"] = new Map();
  let questions = 0;
  socket.on("message", (query, { port, address }) => {
    questions++;
    socket.send(answerTo(query, zone), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    zone,
    questions: () => questions,
    stop: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

/** RFC 1035: header, the question as it came, one record per address with a life of zero. */
function answerTo(query: Buffer, zone: NameServer["zone"]): Buffer {
  const { name, end } = readName(query);
  const type = query.readUInt16BE(end);
  const known = zone.get(name.toLowerCase());
  const addresses = typeof known === "function" ? known() : (known ?? []);
  const wanted = addresses.filter((address) => (isIPv6(address) ? types.aaaa : types.a) === type);
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(known === undefined ? 0x8183 : 0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(wanted.length, 6);
  return Buffer.concat([header, query.subarray(12, end + 4), ...wanted.map((each) => record(type, each))]);
}

function readName(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("ascii", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join("."), end: at + 1 };
}

function record(type: number, address: string): Buffer {
  const bytes = bytesOf(address);
  const head = Buffer.from([0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length]);
  return Buffer.concat([head, bytes]);
}

function bytesOf(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split(".").map(Number));
  // The URL parser writes out embedded IPv4; then "::" stands for as many zeros as are missing.
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = "", tail = ""] = plain.split("::");
  const [front, back] = [head, tail].map((part) => (part === "" ? [] : part.split(":")));
  const groups = [
    ...(front ?? []),
    ...Array.from({ length: 8 - (front?.length ?? 0) - (back?.length ?? 0) }, () => "0"),
    ...(back ?? []),
  ];
  const bytes = Buffer.alloc(16);
  groups.slice(0, 8).forEach((group, index) => bytes.writeUInt16BE(Number.parseInt(group, 16), index * 2));
  return bytes;
}
