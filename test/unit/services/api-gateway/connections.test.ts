// Who may be connected, whom room is made for, and who is let go: on real connections from several loopback addresses.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import { AnswerBudget } from "../../../../services/api-gateway/answer-budget.ts";
import {
  answerMsMax,
  type ConnectionBounds,
  Connections,
} from "../../../../services/api-gateway/connections.ts";
import { head, open, statusesIn, type Wire } from "../../../support/raw-http.ts";
import { eventually } from "../../../support/service.ts";

interface Scene {
  connections: Connections;
  url: string;
  /** Opens a connection and waits until the server has it. */
  connect: (from?: string) => Promise<Wire>;
  /** Has a request answered, so that the connection is idle. */
  ask: (wire: Wire) => Promise<void>;
  /** Has a request begun that is never answered. */
  occupy: (wire: Wire) => Promise<void>;
}

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const quick = head("GET", "/quick");
const never = head("GET", "/never");

async function scene(
  bounds: Partial<ConnectionBounds>,
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) =>
    response.end("done"),
): Promise<Scene> {
  let begun = 0;
  const connections = new Connections(
    { connectionsMax: 1_000, perAddressMax: 1_000, isProxy: () => false, ...bounds },
    (request, response) => {
      begun++;
      if (request.url !== "/never") answer(request, response);
    },
  );
  const server: Server = createServer((request, response) => connections.take(request, response));
  server.prependListener("connection", (socket: Socket) => connections.admit(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const askedOf = async (wire: Wire, text: string) => {
    const before = begun;
    wire.socket.write(text);
    await eventually(async () => begun > before || wire.socket.closed);
  };
  return {
    connections,
    url,
    connect: async (from) => {
      const connected = once(server, "connection");
      const wire = open(url, from);
      closing.push(() => wire.socket.destroy());
      await connected;
      return wire;
    },
    ask: async (wire) => {
      const answers = statusesIn(wire.received()).length;
      wire.socket.write(quick);
      await eventually(async () => statusesIn(wire.received()).length > answers);
    },
    occupy: (wire) => askedOf(wire, never),
  };
}

const several = <T>(count: number, make: (at: number) => Promise<T>): Promise<T[]> =>
  Array.from({ length: count }).reduce<Promise<T[]>>(
    async (before, _, at) => [...(await before), await make(at)],
    Promise.resolve([]),
  );

describe("one address", () => {
  it("has so many connections; one more is closed at once, and others are served", async () => {
    const { connections, connect, ask, occupy } = await scene({ perAddressMax: 10 });
    const own = await several(10, () => connect("127.0.0.2"));
    for (const wire of own) await occupy(wire);
    const refused = await connect("127.0.0.2");
    expect(await refused.ended).toBe("");
    await ask(await connect("127.0.0.3"));
    expect(own.filter(({ socket }) => socket.closed)).toEqual([]);
    expect(connections.size).toBe(11);
    own[0]?.socket.destroy();
    await eventually(async () => connections.size === 10);
    await ask(await connect("127.0.0.2"));
  });

  it("loses the connection that is idle longest when it wants another", async () => {
    const { connect, ask, occupy, connections } = await scene({ perAddressMax: 3 });
    const [busy, first, second] = (await several(3, () => connect("127.0.0.2"))) as [Wire, Wire, Wire];
    await occupy(busy);
    await ask(second);
    await ask(first);
    await ask(await connect("127.0.0.2"));
    await second.ended;
    expect([busy.socket.closed, first.socket.closed]).toEqual([false, false]);
    expect(connections.size).toBe(3);
  });

  it("is not counted when it is a proxy, which has many clients", async () => {
    const isProxy = (address: string) => address === "127.0.0.2";
    const { connect, ask } = await scene({ perAddressMax: 2, isProxy });
    for (const wire of await several(10, () => connect("127.0.0.2"))) await ask(wire);
  });
});

describe("when nearly all connections are taken", () => {
  it("the longest idle make way, one for each that comes, and never one that is being answered", async () => {
    const { connect, ask, occupy, connections } = await scene({ connectionsMax: 20 });
    const busy = await several(4, (at) => connect(`127.0.0.${10 + at}`));
    for (const wire of busy) await occupy(wire);
    const idle = await several(14, (at) => connect(`127.0.0.${30 + at}`));
    for (const wire of idle) await ask(wire);
    expect(connections.size).toBe(18);
    await ask(idle[0] as Wire);
    for (let came = 0; came < 5; came++) await ask(await connect(`127.0.0.${60 + came}`));
    await Promise.all(idle.slice(1, 6).map(({ ended }) => ended));
    expect([...busy, ...idle.slice(6), idle[0]].filter((wire) => wire?.socket.closed)).toEqual([]);
    expect(connections.size).toBe(18);
  });

  it("and all are busy, new ones still come in until there is no room at all", async () => {
    const { connect, occupy, connections } = await scene({ connectionsMax: 20 });
    for (let came = 0; came < 20; came++) await occupy(await connect(`127.0.0.${10 + came}`));
    expect(connections.size).toBe(20);
  });
});

const huge = Buffer.alloc(32 * 1_048_576, "x");

describe("an answer that nobody takes", () => {
  /** Reads nothing until it is told to. */
  const askAndWait = async (wire: Wire, text = quick): Promise<void> => {
    wire.socket.pause();
    wire.socket.write(text);
  };
  const stalledScene = async (answer: (response: ServerResponse) => void) => {
    let current: ServerResponse | undefined;
    const made = await scene({}, (_request, response) => {
      current = response;
      answer(response);
    });
    const begun = () => eventually(async () => current?.headersSent === true);
    return { ...made, begun };
  };

  it("ends with its connection after a minute, and the time that a slow client would need for it", async () => {
    const { connections, connect, begun } = await stalledScene((response) => response.end(huge));
    const wire = await connect();
    await askAndWait(wire);
    await begun();
    const now = performance.now();
    connections.endStalled(now);
    const wholeAtLeast = huge.length / 25;
    connections.endStalled(now + answerMsMax + wholeAtLeast);
    expect(connections.size).toBe(1);
    connections.endStalled(now + answerMsMax + wholeAtLeast + 1_000);
    expect(connections.size).toBe(0);
    wire.socket.resume();
    await wire.ended;
  });

  it("may take longer as long as it gets on", async () => {
    let pieces = 1_000;
    const { connections, connect, begun } = await stalledScene((response) => {
      // As a download is written: a piece when there is room for it.
      const more = () => {
        while (pieces-- > 0 && response.write(huge.subarray(0, 65_536)));
      };
      response.on("drain", more);
      more();
    });
    const { socket } = await connect();
    let taken = 0;
    let wanted = 0;
    socket.on("data", (chunk: string) => {
      taken += chunk.length;
      if (taken >= wanted) socket.pause();
    });
    socket.write(quick);
    await begun();
    let now = performance.now();
    connections.endStalled(now);
    for (let minutes = 0; minutes < 3; minutes++) {
      wanted = taken + huge.length / 4;
      socket.resume();
      await eventually(async () => taken >= wanted);
      now += answerMsMax;
      connections.endStalled(now);
      expect(connections.size).toBe(1);
    }
  });

  it("is no reason to end a connection whose request is still worked on", async () => {
    const { connections, connect, occupy } = await scene({});
    await occupy(await connect());
    const now = performance.now();
    for (let minutes = 0; minutes < 3; minutes++) connections.endStalled(now + 2 * minutes * answerMsMax);
    expect(connections.size).toBe(1);
  });
});

describe("answers that nobody takes", () => {
  it("are given up, the oldest first, when together they hold too much", async () => {
    const answers = new AnswerBudget(3 * huge.length);
    const { connect } = await scene({}, (_request, response) => {
      answers.hold(response, huge.length);
      response.end(huge);
    });
    const wires: Wire[] = [];
    for (let at = 0; at < 5; at++) {
      const wire = await connect();
      wires.push(wire);
      wire.socket.pause();
      wire.socket.write(quick);
      await eventually(async () => answers.bytes >= Math.min(at + 1, 3) * huge.length);
    }
    await eventually(async () => answers.bytes === 3 * huge.length);
    for (const { socket } of wires) socket.resume();
    const whole = await Promise.all(
      wires.map(async (wire, at) => {
        await eventually(async () => wire.socket.closed || wire.received().length > huge.length);
        return [at, wire.received().length > huge.length];
      }),
    );
    expect(whole).toEqual([
      [0, false],
      [1, false],
      [2, true],
      [3, true],
      [4, true],
    ]);
    await eventually(async () => answers.bytes === 0);
  });

  it("that are small are not counted: a connection has only one", () => {
    const answers = new AnswerBudget(1);
    answers.hold({ destroyed: false } as ServerResponse, 4_095);
    expect(answers.bytes).toBe(0);
  });
});
