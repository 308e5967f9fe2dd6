// Moleculer's packets as lines of a stream: the command and its payload as JSON.
import type { Duplex } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** A list of a few hundred rows has about 100 kB. */
const lineCharsMax = 16_777_216;

export interface Packet {
  cmd: string;
  payload: Record<string, unknown>;
}

/** @returns a packet as a line with its newline */
export function packetLine(cmd: string, payload: object): string {
  return `${cmd} ${JSON.stringify(payload)}\n`;
}

/** Calls `take` for each packet until the stream ends. A line that is not a packet, or is too long, destroys the stream. */
export function eachLine(stream: Duplex, take: (packet: Packet) => unknown): void {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  stream.on("data", (chunk: Buffer) => {
    const lines = (rest + decoder.write(chunk)).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > lineCharsMax) stream.destroy();
    for (const line of lines) {
      const packet = parsed(line);
      if (packet === undefined) return void stream.destroy();
      void take(packet);
    }
  });
}

function parsed(line: string): Packet | undefined {
  const gap = line.indexOf(" ");
  try {
    const payload: unknown = JSON.parse(line.slice(gap + 1));
    if (gap < 1 || typeof payload !== "object" || payload === null) return undefined;
    return { cmd: line.slice(0, gap), payload: { ...payload } };
  } catch {
    return undefined;
  }
}
