// Bodies that are held back: 900 connections, each of which withholds the last byte of its body, cost the process little,
// and others are answered meanwhile. However a request ends, nothing of it stays in the budget.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { peakMegabytesOf } from "../support/memory.ts";
import { freePort } from "../support/nats.ts";
import { head, open, statusesIn, type Wire } from "../support/raw-http.ts";
import { brokenInside, eventually, startService, type TestService } from "../support/service.ts";
import { paymentSettings } from "../support/notifications.ts";

const megabyte = 1_048_576;
const crowd = 900;
/** What all of this may add. All services in one process hold 230 MB before, a gateway some 130; the bodies alone were 900. */
const addedMegabytesMax = 250;

let service: TestService;
let doctor: string;
let nurse: string;
let metricsUrl: string;
let megabytesBefore: number;
beforeAll(async () => {
  const metricsPort = await freePort();
  metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`;
  service = await startService({
    ...paymentSettings,
    METRICS_PORT: String(metricsPort),
    NODE_OPTIONS: "--max-old-space-size=256",
  });
  doctor = await service.signIn("doctor");
  nurse = await service.signIn("nurse");
  await othersAreServed();
  megabytesBefore = await peakMegabytesOf(Number(service.process.child.pid));
});
afterAll(() => service.stop());

const figure = async (name: string): Promise<number> => {
  const text = await (await fetch(metricsUrl)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
};
const bodyBytes = () => figure("records_http_body_bytes");
const requestsHeld = () => figure("records_http_requests_held");
const isEmpty = async () => (await bodyBytes()) === 0 && (await requestsHeld()) === 0;

const wires: Wire[] = [];
const wireFrom = (from?: string): Wire => {
  const wire = open(service.url, from);
  wires.push(wire);
  return wire;
};
afterEach(async () => {
  for (const { socket } of wires.splice(0)) socket.destroy();
  await eventually(isEmpty);
});

const lengthOf = (bytes: number) => `Content-Length: ${bytes}`;
const bearer = (token: string) => `Authorization: Bearer ${token}`;
const json = "Content-Type: application/json";
const address = (at: number) => `127.0.0.${2 + (at % 9)}`;

/** Opens a crowd's connections, each of which sends all of its body but the last byte. */
function holdBack(path: string, bytes: number, headers: readonly string[]): Wire[] {
  const body = Buffer.alloc(bytes - 1, " ");
  return Array.from({ length: crowd }, (_, at) => {
    const wire = wireFrom(address(at));
    wire.socket.write(head("POST", path, [json, lengthOf(bytes), ...headers]));
    wire.socket.write(body);
    return wire;
  });
}

async function othersAreServed(): Promise<void> {
  const asked = [
    service.call("GET", "/api/users/me", { token: nurse }),
    service.signIn("registrar").then(() => ({ status: 200 })),
    service.call("PUT", "/api/preferences/theme", { token: nurse, body: { theme: "dark" } }),
  ];
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200]);
}

const peakIsBounded = async () => {
  const peak = await peakMegabytesOf(Number(service.process.child.pid));
  expect(peak - megabytesBefore).toBeLessThan(addedMegabytesMax);
};

/** How many have been answered, by status; the others are held. */
const answered = (held: readonly Wire[], status: number) =>
  held.filter((wire) => statusesIn(wire.received())[0] === status).length;

describe("nine hundred connections hold back the last byte", () => {
  it("of a megabyte, without a token: all are refused and closed", async () => {
    const held = holdBack("/api/patients", megabyte, []);
    await othersAreServed();
    const answers = await Promise.all(held.map(({ ended }) => ended));
    // Who had not read it when a second was over may have been reset.
    const seen = answers.flatMap(statusesIn);
    expect(new Set(seen)).toEqual(new Set([401]));
    await peakIsBounded();
  });

  it("of sixteen kilobytes, where no token is needed: there is room for who signs in", async () => {
    const bytes = 16_384;
    const held = holdBack("/api/auth/login", bytes, []);
    await eventually(async () => (await bodyBytes()) >= Math.min(crowd * bytes, megabyte));
    await othersAreServed();
    expect(await bodyBytes()).toBeLessThanOrEqual(16 * megabyte);
    await peakIsBounded();
    expect(held.length).toBe(crowd);
  });

  it("of a notification: those beyond eight megabytes are refused, and nobody else", async () => {
    const bytes = 262_144;
    const held = holdBack("/webhooks/card-provider", bytes, []);
    await eventually(async () => answered(held, 503) >= crowd - 32 && (await requestsHeld()) <= 32);
    expect(answered(held, 503)).toBe(crowd - 32);
    expect(await bodyBytes()).toBeLessThanOrEqual(8 * megabyte);
    await othersAreServed();
    await peakIsBounded();
    const [refused = ""] = held.map((wire) => wire.received()).filter((text) => text.includes(" 503 "));
    expect(refused).toMatch(/^Retry-After: 1\r$/m);
    expect(refused).toMatch(/"code":"overloaded"\}$/);
  });

  it("of a megabyte, signed in: those beyond forty megabytes are refused, and small bodies are not", async () => {
    const held = holdBack("/api/patients", megabyte, [bearer(doctor)]);
    await eventually(async () => answered(held, 503) >= crowd - 40 && (await requestsHeld()) <= 40);
    expect(await bodyBytes()).toBeLessThanOrEqual(40 * megabyte);
    await othersAreServed();
    await peakIsBounded();
  });

  it("and from one address they leave three quarters to others", async () => {
    const held = Array.from({ length: 60 }, () => {
      const wire = wireFrom("127.0.0.20");
      wire.socket.write(head("POST", "/api/patients", [json, lengthOf(megabyte), bearer(doctor)]));
      wire.socket.write(Buffer.alloc(megabyte - 1, " "));
      return wire;
    });
    await eventually(async () => answered(held, 503) === 50);
    const padding = " ".repeat(megabyte - 2);
    const { status } = await service.call("POST", "/api/patients", { token: doctor, body: `{${padding}}` });
    expect(status).toBe(422);
  });
});

describe("nothing is held any more after a request that", () => {
  const patients = (headers: readonly string[], body = "") =>
    head("POST", "/api/patients", [json, bearer(doctor), ...headers]) + body;
  const chunked = "Transfer-Encoding: chunked";
  const half = " ".repeat(40_000);
  const anchored = async () => eventually(async () => (await bodyBytes()) > 0);

  type Way = [name: string, go: (wire: Wire) => Promise<unknown>];
  const ways: Way[] = [
    [
      "was answered with success",
      async (wire) => {
        const body = JSON.stringify({ theme: "light" });
        const headers = [json, bearer(nurse), lengthOf(body.length)];
        wire.socket.write(head("PUT", "/api/preferences/theme", headers) + body);
        await wire.until(/ 200 OK/);
      },
    ],
    [
      "was refused for its parameters",
      async (wire) => {
        wire.socket.write(patients([lengthOf(2)], "{}"));
        await wire.until(/ 422 /);
      },
    ],
    [
      "grew too large",
      async (wire) => {
        wire.socket.write(patients([chunked]));
        wire.socket.write(`${(megabyte + 1).toString(16)}\r\n${" ".repeat(megabyte + 1)}\r\n`);
        await wire.until(/ 413 /);
      },
    ],
    [
      "broke in the midst of its chunks",
      async (wire) => {
        wire.socket.write(patients([chunked], "1\r\nx\r\nno length\r\n"));
        await wire.until(/ 400 /);
      },
    ],
    [
      "was given up by its client",
      async (wire) => {
        wire.socket.write(patients([lengthOf(megabyte)], half));
        await anchored();
        wire.socket.end();
      },
    ],
    [
      "was reset by its client",
      async (wire) => {
        wire.socket.write(patients([lengthOf(megabyte)], half));
        await anchored();
        wire.socket.resetAndDestroy();
      },
    ],
    [
      "was told to go on and did not",
      async (wire) => {
        wire.socket.write(patients([lengthOf(megabyte), "Expect: 100-continue"]));
        await wire.until(/ 100 Continue/);
        expect(await bodyBytes()).toBeGreaterThan(0);
        wire.socket.destroy();
      },
    ],
    [
      "was left by its client while it was worked on",
      async (wire) => {
        const body = JSON.stringify({ email: "a@b.example", password: "wrong-password", subdomain: "demo" });
        wire.socket.write(head("POST", "/api/auth/login", [json, lengthOf(body.length)]) + body, () =>
          wire.socket.destroy(),
        );
      },
    ],
    [
      "came too slowly",
      async (wire) => {
        wire.socket.write(patients([lengthOf(megabyte)], half));
        await anchored();
        expect(await wire.ended).toMatch(/ 408 [^]*"code":"request_timeout"\}$/);
      },
    ],
    [
      "stood behind another on its connection",
      async (wire) => {
        wire.socket.write(head("GET", "/api/users/me", [bearer(nurse)]).repeat(20));
        wire.socket.write(patients([lengthOf(megabyte)], half));
        await wire.ended;
      },
    ],
  ];

  it.each(ways)("%s", async (_name, go) => {
    await go(wireFrom());
    await eventually(isEmpty);
    // And the budget is whole: a large body finds room.
    const body = `{${" ".repeat(megabyte - 2)}}`;
    expect((await service.call("POST", "/api/patients", { token: doctor, body })).status).toBe(422);
    expect(brokenInside(service.process.output())).toEqual([]);
  });
});
