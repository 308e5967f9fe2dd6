// A node that was started anew under its name, or while another one bears it, and what a recording of its earlier start
// does to it and to the others. Over Moleculer's in-memory transporter and without the seal, so that this wall is seen to
// stand alone. (That what was said to a living start is not heard twice by it is the seal's: bus-seal.test.ts.)
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { ServiceBroker, type ServiceSchema } from "moleculer";
import { assemble } from "../../../../../moleculer.config.ts";
import { anyone } from "../../../../../services/shared/access.ts";
import { Caller } from "../../../../../services/shared/caller.ts";
import { readConfig } from "../../../../../host/settings/config.ts";
import type { RecordsAction } from "../../../../../services/shared/bus/schemas.ts";
import { eventually, testSettings } from "../../../../support/service.ts";

const namespace = "starts";
const settings = testSettings({ url: "", folder: "/nowhere" });
const caller = Caller.system("start");

interface Node {
  broker: ServiceBroker;
  /** Why it ended itself. */
  fatal: string[];
  ran: string[];
  dropped(): number;
}
interface Recorded {
  topic: string;
  data: Buffer;
}

const started: ServiceBroker[] = [];
const recorded: Recorded[] = [];
// Moleculer's in-memory transporter keeps its exchange here.
const { bus } = globalThis as unknown as { bus: { emit(topic: string, data: Buffer): void } };

async function start(name: string): Promise<Node> {
  const env = { ...settings, DATABASE_URL: "", NODE_ID: name, NAMESPACE: namespace, LOG_LEVEL: "silent" };
  const { options, runtime } = assemble(readConfig(env), () => {});
  const walls = (options.middlewares ?? []).filter(
    (each) => typeof each === "object" && ["records", "bus-starts"].includes(String(each.name)),
  );
  const broker = new ServiceBroker({ ...options, middlewares: walls, transporter: "Fake", logger: false });
  const node: Node = { broker, fatal: [], ran: [], dropped: () => runtime.droppedMessages.other_start };
  // It would end the process, and this one is the tests'.
  broker.fatal = (message) => void node.fatal.push(message);
  const action = {
    access: anyone,
    handler: async (ctx) => void node.ran.push(ctx.id),
  } as RecordsAction;
  const service: ServiceSchema = { name: name.split("-")[0] ?? "", actions: { run: action } };
  broker.createService(service);
  started.push(broker);
  await broker.start();
  return node;
}

const run = (from: Node, action: string) => from.broker.call(action, {}, { meta: { caller } });
const runs = (from: Node, action: string) =>
  run(from, action).then(
    () => true,
    () => false,
  );
const of = (command: string) =>
  recorded.filter(({ topic }) => topic.startsWith(`MOL-${namespace}.${command}`));
/** Said to the present start of whom it was sent to. */
const toLiving = ({ topic, data }: Recorded) =>
  topic.endsWith(".front-1") && JSON.parse(data.toString()).for === front.broker.instanceID;
function repeat(packets: readonly Recorded[], times = 5): void {
  for (let time = 0; time < times; time++) for (const { topic, data } of packets) bus.emit(topic, data);
}
/** Resolves when the event loop has been round often enough for every answer to an answer. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
}

let front: Node;
let back: Node;
let restarted: Node;
const emit = bus.emit.bind(bus);

beforeAll(async () => {
  // Of the first two, everything is recorded.
  bus.emit = (topic, data) => {
    recorded.push({ topic, data });
    return emit(topic, data);
  };
  front = await start("front-1");
  back = await start("back-1");
  await front.broker.waitForServices(["back"], 5_000);
  await run(front, "back.run");
  expect(back.ran).toHaveLength(1);
  await back.broker.stop();
  bus.emit = emit;
  restarted = await start("back-1");
  await eventually(() => runs(front, "back.run"));
});
afterAll(async () => {
  bus.emit = emit;
  for (const broker of started) await broker.stop();
});

it("was recorded at all", () => {
  for (const command of ["REQ.back-1", "INFO", "DISCOVER"]) expect(of(command).length).toBeGreaterThan(0);
  expect(of("DISCONNECT")).toHaveLength(1);
});

it("a request to the earlier start does not run", async () => {
  const before = { ran: restarted.ran.length, dropped: restarted.dropped() };
  const requests = of("REQ.back-1");
  repeat(requests);
  await settled();
  expect(restarted.ran.length).toBe(before.ran);
  expect(restarted.dropped() - before.dropped).toBe(requests.length * 5);
});

it("the earlier start's leaving takes nothing away", async () => {
  repeat(of("DISCONNECT"));
  await expect(run(front, "back.run")).resolves.toBeUndefined();
  await settled();
  await expect(run(front, "back.run")).resolves.toBeUndefined();
});

it("what the earlier start said of itself is not believed, and does not end the new one", async () => {
  const said = [...of("INFO"), ...of("DISCOVER"), ...of("HEARTBEAT")].filter((each) => !toLiving(each));
  expect(said.length).toBeGreaterThan(2);
  repeat(said);
  await expect(run(front, "back.run")).resolves.toBeUndefined();
  await settled();
  await expect(run(front, "back.run")).resolves.toBeUndefined();
  expect([...restarted.fatal, ...front.fatal]).toEqual([]);
});

it("a node that has just started believes no recording of one that is gone", async () => {
  const gone = await start("gone-1");
  bus.emit = (topic, data) => {
    recorded.push({ topic, data });
    return emit(topic, data);
  };
  recorded.length = 0;
  await gone.broker.transit?.discoverer.sendLocalNodeInfo();
  await front.broker.waitForServices(["gone"], 5_000);
  await settled();
  await gone.broker.stop();
  bus.emit = emit;
  const newcomer = await start("newcomer-1");
  expect(of("INFO").length).toBeGreaterThan(0);
  repeat(of("INFO"));
  repeat(of("INFO").map(({ data }) => ({ topic: `MOL-${namespace}.INFO.newcomer-1`, data })));
  await settled();
  await expect(run(newcomer, "gone.run")).rejects.toMatchObject({ type: "SERVICE_NOT_FOUND" });
  // While what is there has introduced itself.
  await expect(run(newcomer, "back.run")).resolves.toBeUndefined();
});

it("a second node of a name that is taken ends itself, and the first one stays", async () => {
  const second = await start("back-1");
  await eventually(async () => second.fatal.length > 0);
  expect(second.fatal[0]).toMatch(/nodeID conflict/);
  expect(restarted.fatal).toEqual([]);
  // Here it lives on and is taken for the first one; when it has left, that one is found again.
  await second.broker.stop();
  const before = restarted.ran.length;
  await eventually(() => runs(front, "back.run"));
  expect(restarted.ran.length).toBe(before + 1);
});
