// Half-sent and slow requests: each is cut off at its deadline, while everybody else is served. This test takes its time.
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { brokenInside, startService, type TestService } from "../support/service.ts";

/** Deadlines are 10 s; three times that is for a busy machine. Who is never cut off fails. */
const cutOffMsMax = 30_000;
const eachKind = 100;

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const start = "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
const body = "Content-Length: 1000\r\n\r\n";

interface Slow {
  kind: string;
  first: string;
  /** Sent again and again, a piece every 500 ms. */
  drip?: string;
}
const kinds: Slow[] = [
  { kind: "says nothing", first: "" },
  { kind: "stops within the request line", first: "GET /api/us" },
  { kind: "stops within the headers", first: start },
  { kind: "drips headers", first: start, drip: "X-More: x\r\n" },
  { kind: "stops before the body", first: start + body },
  { kind: "stops within the body", first: `${start}${body}{"email":` },
  { kind: "drips its body", first: start + body, drip: " " },
  { kind: "drips chunks", first: `${start}Transfer-Encoding: chunked\r\n\r\n`, drip: "1\r\n \r\n" },
];

interface Ended {
  kind: string;
  afterMs: number;
  answer: string;
}

/** @returns when the server closed the connection and what it said */
function holdOpen({ kind, first, drip }: Slow): { socket: Socket; ended: Promise<Ended> } {
  const { hostname, port } = new URL(service.url);
  const startedAt = performance.now();
  const socket = connect(Number(port), hostname, () => socket.write(first));
  const dripping = drip === undefined ? undefined : setInterval(() => socket.write(drip), 500);
  let answer = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    answer += chunk;
  });
  socket.on("error", () => {});
  const ended = new Promise<Ended>((resolve) =>
    socket.on("close", () => {
      clearInterval(dripping);
      resolve({ kind, afterMs: performance.now() - startedAt, answer });
    }),
  );
  return { socket, ended };
}

describe("800 slow clients of every kind", () => {
  it("are cut off, and nobody else waits for them", async () => {
    const token = await service.signIn("nurse");
    const held = kinds.flatMap((slow) => Array.from({ length: eachKind }, () => holdOpen(slow)));
    const all = Promise.all(held.map(({ ended }) => ended));
    const over = new AbortController();
    void all.then(() => over.abort());
    let served = 0;
    const giveUpAt = performance.now() + cutOffMsMax;
    while (!over.signal.aborted && performance.now() < giveUpAt) {
      expect((await service.call("GET", "/api/users/me", { token })).status).toBe(200);
      served += 1;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    for (const { socket } of held) socket.destroy();
    const ended = await all;
    const late = ended.filter(({ afterMs }) => afterMs > cutOffMsMax);
    expect(late.map(({ kind }) => kind)).toEqual([]);
    for (const { answer } of ended) {
      expect(answer).toMatch(/^(?:HTTP\/1\.1 (?:408|400) [^]*"code":"[a-z_]+"\})?$/);
    }
    expect(served).toBeGreaterThan(10);
  });

  it("leave nothing behind: the service answers and has logged no failure", async () => {
    expect((await service.call("GET", "/api/auth/tenants")).status).toBe(200);
    expect(brokenInside(service.process.output())).toEqual([]);
  });
});

describe("slow but in time", () => {
  it("a request whose body comes in pieces over two seconds is answered", async () => {
    const text = JSON.stringify({ email: "a@b.example", password: "wrong-password", subdomain: "demo" });
    const { hostname, port } = new URL(service.url);
    const answer = await new Promise<string>((resolve, reject) => {
      let received = "";
      const socket = connect(Number(port), hostname, () => {
        socket.write(`${start}Connection: close\r\nContent-Length: ${text.length}\r\n\r\n`);
        for (let at = 0; at < text.length; at += 20) {
          setTimeout(() => socket.write(text.slice(at, at + 20)), 20 * (at + 20));
        }
      });
      socket.setEncoding("utf8").on("data", (chunk: string) => {
        received += chunk;
      });
      socket.on("error", reject).on("close", () => resolve(received));
    });
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  });

  it("a connection that is kept alive between requests is not cut off", async () => {
    const { hostname, port } = new URL(service.url);
    const request = "GET /api/auth/tenants HTTP/1.1\r\nHost: x\r\n\r\n";
    const socket = connect(Number(port), hostname, () => socket.write(request));
    let received = "";
    socket.setEncoding("utf8");
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => socket.write(request), 3_000);
      socket.on("error", reject).on("data", (chunk: string) => {
        received += chunk;
        if (received.split("HTTP/1.1 200").length === 3) {
          clearTimeout(late);
          resolve();
        }
      });
    });
    socket.destroy();
  });
});
