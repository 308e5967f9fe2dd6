// What a receiver may answer, and how little of it can do harm: time, bytes, headers and certificates are bounded, and
// connections are kept and replaced without anybody noticing.
import { createServer as createHttp, type Server } from "node:http";
import { createServer as createHttps } from "node:https";
import { createServer as createTcp, type Server as TcpServer, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import { Outbound } from "../../../../mixins/outbound/outbound.ts";
import { authority, certificate, certificateKey } from "./certificates.ts";

const open = new Set<{ close(): void }>();
const sockets = new Set<Socket>();
afterEach(async () => {
  for (const each of open) each.close();
  for (const socket of sockets) socket.destroy();
  open.clear();
});

async function listen(server: TcpServer): Promise<number> {
  server.on("connection", (socket: Socket) => sockets.add(socket));
  open.add(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Answers every connection with exactly these bytes, once something has come. */
function raw(answer: (socket: Socket) => void): TcpServer {
  return createTcp((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => answer(socket));
  });
}

function outbound(more: { ca?: string; address?: string } = {}): Outbound {
  const made = new Outbound({
    allowSubnets: ["127.0.0.0/8"],
    resolve: async () => [more.address ?? "127.0.0.1"],
    ...(more.ca === undefined ? {} : { ca: more.ca }),
  });
  open.add(made);
  return made;
}

const post = (port: number, deadlineMs = 2_000, signal?: AbortSignal) =>
  outbound().send({ url: `http://127.0.0.1:${port}/`, method: "POST", body: "{}", deadlineMs, signal });

describe("an answer", () => {
  it("brings status, Retry-After and text", async () => {
    const port = await listen(
      createHttp((_request, response) => response.writeHead(429, { "retry-after": "7" }).end("söon")),
    );
    expect(await post(port)).toMatchObject({ ok: true, status: 429, retryAfter: "7", body: "söon" });
  });

  it("of a gigabyte is read up to 64 kB", async () => {
    let sent = 0;
    const port = await listen(
      createHttp((_request, response) => {
        const chunk = Buffer.alloc(65_536, "x");
        const more = () => {
          while (sent < 2 ** 30 && !response.destroyed) {
            sent += chunk.length;
            if (!response.write(chunk)) return void response.once("drain", more);
          }
        };
        more();
      }),
    );
    const result = await post(port);
    expect(result).toMatchObject({ ok: true, status: 200 });
    expect(result.ok && result.body.length).toBe(65_536);
    expect(sent).toBeLessThan(50_000_000);
  });

  it("that drips counts by its status when time is up", async () => {
    const port = await listen(
      createHttp((_request, response) => {
        response.writeHead(200);
        const timer = setInterval(() => response.write("."), 20);
        response.once("close", () => clearInterval(timer));
      }),
    );
    const startedAt = performance.now();
    expect(await post(port, 300)).toMatchObject({ ok: true, status: 200 });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  it("that is packed stays packed", async () => {
    const port = await listen(
      createHttp((_request, response) =>
        response.writeHead(200, { "content-encoding": "gzip" }).end("not gzip"),
      ),
    );
    expect(await post(port)).toMatchObject({ ok: true, body: "not gzip" });
  });
});

describe("no answer", () => {
  it("in time is a timeout", async () => {
    const port = await listen(raw(() => {}));
    expect(await post(port, 200)).toMatchObject({ ok: false, failure: "timeout" });
  });

  it("but headers that drip for ever is a timeout", async () => {
    const port = await listen(
      raw((socket) => {
        socket.write("HTTP/1.1 200 OK\r\n");
        const timer = setInterval(() => socket.write("x: y\r\n"), 20);
        socket.once("close", () => clearInterval(timer));
      }),
    );
    expect(await post(port, 300)).toMatchObject({ ok: false, failure: "timeout" });
  });

  it("but informational ones without end is a timeout", async () => {
    const port = await listen(
      raw((socket) => {
        const timer = setInterval(() => socket.write("HTTP/1.1 103 Early Hints\r\n\r\n"), 5);
        socket.once("close", () => clearInterval(timer));
      }),
    );
    expect(await post(port, 300)).toMatchObject({ ok: false, failure: "timeout" });
  });

  it("with ten thousand headers is refused", async () => {
    const port = await listen(
      raw((socket) => socket.end(`HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(10_000)}\r\n`)),
    );
    expect(await post(port)).toMatchObject({ ok: false, failure: "protocol" });
  });

  it("that is HTTP is refused", async () => {
    const port = await listen(raw((socket) => socket.end("220 mail.example ESMTP\r\n")));
    expect(await post(port)).toMatchObject({ ok: false, failure: "protocol" });
  });

  it("that would be another protocol is refused", async () => {
    const port = await listen(
      raw((socket) => socket.write("HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")),
    );
    expect(await post(port)).toMatchObject({ ok: false, failure: "protocol" });
  });

  it("because nobody listens, or the other side hangs up", async () => {
    const port = await listen(raw((socket) => socket.destroy()));
    expect(await post(port)).toMatchObject({ ok: false, failure: "connection" });
    expect(await post(9)).toMatchObject({ ok: false, failure: "connection" });
  });

  it("because the caller gave up", async () => {
    const port = await listen(raw(() => {}));
    const ending = new AbortController();
    const sent = post(port, 5_000, ending.signal);
    ending.abort();
    expect(await sent).toMatchObject({ ok: false, failure: "aborted" });
    expect(await post(port, 5_000, ending.signal)).toMatchObject({ ok: false, failure: "aborted" });
  });
});

describe("a certificate", () => {
  const start = (requests: { host?: string | undefined; servername?: string }[] = []) =>
    listen(
      createHttps({ key: certificateKey, cert: certificate }, (request, response) => {
        const socket = request.socket as unknown as { servername?: string };
        requests.push({
          host: request.headers.host,
          ...(socket.servername ? { servername: socket.servername } : {}),
        });
        response.end("ok");
      }),
    );
  const send = (url: string, ca?: string) =>
    outbound({ ca: ca ?? "" }).send({ url, method: "POST", body: "{}", deadlineMs: 2_000 });

  it("of the name passes; SNI and Host are the name although the address is connected", async () => {
    const requests: { host?: string | undefined; servername?: string }[] = [];
    const port = await start(requests);
    expect(await send(`https://receiver.example:${port}/`, authority)).toMatchObject({
      ok: true,
      body: "ok",
    });
    expect(requests).toEqual([{ host: `receiver.example:${port}`, servername: "receiver.example" }]);
  });

  it.each([
    ["of another name", (port: number) => `https://other.example:${port}/`, authority],
    ["of a name where an address is asked for", (port: number) => `https://127.0.0.1:${port}/`, authority],
  ])("%s is refused", async (_case, url, ca) => {
    expect(await send(url(await start()), ca)).toMatchObject({ ok: false, failure: "tls" });
  });

  it("of nobody we trust is refused, and so is a server without TLS", async () => {
    const untrusting = new Outbound({ allowSubnets: ["127.0.0.0/8"], resolve: async () => ["127.0.0.1"] });
    open.add(untrusting);
    const url = `https://receiver.example:${await start()}/`;
    expect(await untrusting.send({ url, method: "POST", body: "{}" })).toMatchObject({ failure: "tls" });
    const port = await listen(createHttp((_request, response) => response.end()));
    expect(await send(`https://receiver.example:${port}/`, authority)).toMatchObject({ failure: "tls" });
  });

  it("that passed for one name opens no kept connection for another", async () => {
    const port = await start();
    const out = outbound({ ca: authority });
    const to = (name: string) => out.send({ url: `https://${name}:${port}/`, method: "POST", body: "{}" });
    expect(await to("receiver.example")).toMatchObject({ ok: true });
    expect(await to("other.example")).toMatchObject({ ok: false, failure: "tls" });
    expect(await to("receiver.example")).toMatchObject({ ok: true });
  });
});

describe("a connection", () => {
  function counting(server: Server): { connections: number } {
    const count = { connections: 0 };
    server.on("connection", () => count.connections++);
    return count;
  }

  it("is kept for the next request to the same place", async () => {
    const server = createHttp((_request, response) => response.end("ok"));
    const count = counting(server);
    const port = await listen(server);
    const out = outbound();
    for (let round = 0; round < 5; round++) {
      expect(
        await out.send({ url: `http://127.0.0.1:${port}/${round}`, method: "POST", body: "{}" }),
      ).toMatchObject({ ok: true });
    }
    expect(count.connections).toBe(1);
  });

  it("that the other side has closed meanwhile is replaced", async () => {
    const server = createHttp((_request, response) => response.end("ok"));
    const port = await listen(server);
    const out = outbound();
    const send = () => out.send({ url: `http://127.0.0.1:${port}/`, method: "POST", body: "{}" });
    for (let round = 0; round < 20; round++) {
      expect(await send()).toMatchObject({ ok: true });
      for (const socket of sockets) socket.resetAndDestroy();
      sockets.clear();
    }
  });

  it("is tried at the next address of a name when nobody takes it at the first", async () => {
    const port = await listen(createHttp((_request, response) => response.end("ok")));
    const out = new Outbound({
      allowSubnets: ["127.0.0.0/8"],
      resolve: async () => ["127.0.0.9", "127.0.0.1"],
    });
    open.add(out);
    expect(await out.send({ url: `http://two.example:${port}/`, method: "POST" })).toMatchObject({
      ok: true,
    });
  });
});
