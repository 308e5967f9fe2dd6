// HTTP as it is: any method, any path, a body with every method, answers as text. For tests that compare answers byte
// by byte or send what fetch refuses to send.
import { Agent, request } from "node:http";
import { connect } from "node:net";

export interface WireAnswer {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  text: string;
  ms: number;
}

export interface WireRequest {
  method: string;
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array | undefined;
}

const answerMsMax = 30_000;

/** A client that keeps its connections; `close` it. There are enough of them that no request waits for one. */
export class Wire {
  readonly #agent: Agent;
  readonly #port: number;

  constructor(url: string, connectionsMax = 64) {
    this.#port = Number(new URL(url).port);
    this.#agent = new Agent({ keepAlive: true, maxSockets: connectionsMax });
  }

  send({ method, path, headers = {}, body }: WireRequest): Promise<WireAnswer> {
    return new Promise((resolve, reject) => {
      const startedAt = performance.now();
      const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
      const outgoing = request(
        {
          host: "127.0.0.1",
          port: this.#port,
          method,
          path,
          headers: { ...headers, ...length },
          agent: this.#agent,
          timeout: answerMsMax,
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: Object.fromEntries(
                Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
              ),
              text: Buffer.concat(chunks).toString("utf8"),
              ms: performance.now() - startedAt,
            }),
          );
        },
      );
      outgoing.on("timeout", () => outgoing.destroy(new Error(`${method} ${path}: no answer`)));
      outgoing.on("error", reject);
      outgoing.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/**
 * Sends bytes as they are on a connection of their own and reads until the server closes it, or until one whole
 * answer with a Content-Length is there. `status` 0: the server closed without a word.
 */
export function sendBytes(url: string, bytes: string | Uint8Array, msMax = answerMsMax): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const chunks: Buffer[] = [];
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    const late = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no answer within ${msMax} ms`));
    }, msMax);
    const finish = () => {
      clearTimeout(late);
      socket.destroy();
      resolve({
        ...parseAnswer(Buffer.concat(chunks).toString("latin1")),
        ms: performance.now() - startedAt,
      });
    };
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      if (isWhole(Buffer.concat(chunks).toString("latin1"))) finish();
    });
    socket.on("close", finish);
    // What was received before a reset still counts; nothing received is status 0.
    socket.on("error", () => {});
    socket.write(bytes);
  });
}

const interim = /^HTTP\/1\.1 1\d\d [^\r]*\r\n(?:[^\r]+\r\n)*\r\n/;

function isWhole(received: string): boolean {
  const text = received.replace(interim, "");
  const end = text.indexOf("\r\n\r\n");
  if (end >= 0 && /^HTTP\/1\.\d 204/.test(text)) return true;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, Math.max(end, 0)))?.[1];
  return end >= 0 && length !== undefined && text.length >= end + 4 + Number(length);
}

function parseAnswer(received: string): Omit<WireAnswer, "ms"> {
  const text = received.replace(interim, "");
  const end = text.indexOf("\r\n\r\n");
  const [line = "", ...fields] = text.slice(0, Math.max(end, 0)).split("\r\n");
  const headers = Object.fromEntries(
    fields.map((field) => {
      const colon = field.indexOf(":");
      return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
    }),
  );
  const body = end < 0 ? "" : Buffer.from(text.slice(end + 4), "latin1").toString("utf8");
  return { status: Number(/^HTTP\/1\.\d (\d{3})/.exec(line)?.[1] ?? 0), headers, text: body };
}

/** Runs `work` over all items, `width` at a time. */
export async function inParallel<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (const item of rest) await work(item);
    }),
  );
}
