// Compares this process's settings with those of the other nodes, when it starts and whenever another one comes. A process
// that would be of no use beside the others says which setting it is, and ends before it has begun to work. It is always the
// newcomer who goes: one that is settled stays whatever it is shown. Where a difference does little harm, the log says it.
import type { ServiceBroker } from "moleculer";
import { tellNodes } from "../nats/bus-link.ts";
import { StartError } from "../../services/shared/start-error.ts";
import {
  conflicts,
  differences,
  type SettingsHashes,
  fingerprintsOf,
  givesWay,
  readFingerprints,
  type Standing,
} from "./equal-settings.ts";
import type { Runtime } from "../process/runtime.ts";
import { secretNeeds } from "../settings/secret-needs.ts";

/** The others' introductions have come by then, also on a busy machine. */
const settledAfterMs = 30_000;

interface Node {
  id: string;
  local: boolean;
  available: boolean;
  metadata?: { records?: unknown } | null;
}

export class Comparison {
  readonly #runtime: Runtime;
  /** What was said of a node that differs: each thing is said once. */
  readonly #said = new Map<string, string>();
  #broker: ServiceBroker | undefined;
  #own: SettingsHashes | undefined;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /**
   * Shows the others what this process has: before it speaks on the bus, and once its secrets are known.
   * @param onConflict told when this process must end after all, as it differs from another one
   */
  show(broker: ServiceBroker, onConflict: (sentence: string) => void): void {
    if (this.#runtime.config.natsUrls === undefined) return;
    this.#broker = broker;
    this.#stand("starting");
    const meet = ({ node }: { node: Node }) => this.#meet(node, onConflict);
    broker.localBus.on("$node.connected", meet);
    broker.localBus.on("$node.updated", meet);
    broker.localBus.on("$node.disconnected", ({ node }: { node: Node }) => void this.#said.delete(node.id));
  }

  /** @throws StartError naming the setting in which a node differs that was there before */
  assertFits(): void {
    for (const node of this.#nodes()) {
      const found = this.#conflictWith(node);
      if (found?.isOurs === true) throw new StartError(found.sentence);
    }
  }

  /** This process is ready: from here on newcomers give way to it. */
  async ready(): Promise<void> {
    await this.#announce("new");
    // Where the bus is away then, it is told when that is back.
    setTimeout(() => void this.#announce("settled").catch(() => undefined), settledAfterMs).unref();
  }

  /** Whether another process that is there accepts the tokens of a key. @param keyId what a token names as its key */
  isTokenKeyElsewhere(keyId: string): boolean {
    return this.#nodes().some((node) => shownBy(node)?.tokens?.accepts.includes(keyId) === true);
  }

  async #announce(standing: Standing): Promise<void> {
    // One that stops has told that it offers nothing any more.
    if (this.#broker === undefined || this.#broker.stopping) return;
    this.#stand(standing);
    // Moleculer takes a copy of the metadata where what it tells of itself is made. It does not declare that.
    const registry = this.#broker.registry as unknown as { regenerateLocalRawInfo(isOffered: boolean): void };
    registry.regenerateLocalRawInfo(false);
    await tellNodes(this.#broker);
  }

  #stand(standing: Standing): void {
    const { config, secrets } = this.#runtime;
    const needs = secretNeeds(config);
    const held = {
      ...config,
      busSecret: secrets.bus,
      bootSecret: secrets.bootIfHeld,
      jwtSecret: needs.jwt ? secrets.jwt : undefined,
      auditSigningKey: needs.audit ? secrets.audit : undefined,
    };
    this.#own = fingerprintsOf(held, standing);
    Object.assign(this.#broker?.metadata ?? {}, { records: this.#own });
  }

  #meet(node: Node, onConflict: (sentence: string) => void): void {
    const found = this.#conflictWith(node);
    // One that starts asks by itself, and ends as one that could not start.
    if (found?.isOurs === true && this.#own?.standing !== "starting") onConflict(found.sentence);
    else if (found !== undefined) this.#say(node, "error", found.sentence);
    else this.#warnOf(node);
  }

  /** @returns undefined where there is none; isOurs: whether this process is the one to go */
  #conflictWith(node: Node): { sentence: string; isOurs: boolean } | undefined {
    const other = shownBy(node);
    const own = this.#own;
    if (other === undefined || own === undefined || other.standing === "starting") return undefined;
    const [name] = conflicts(own, other);
    if (name === undefined) return undefined;
    const sentence =
      name === "JWT_SECRET"
        ? `JWT_SECRET of this process differs from that of the process ${node.id}, and JWT_PREVIOUS_SECRETS do not hold each other's: one would refuse the tokens of the other.`
        : `${name} of this process differs from that of the process ${node.id}: it must be the same on all that have it.`;
    const id = this.#broker?.nodeID ?? "";
    const isOurs = givesWay({ id, standing: own.standing }, { id: node.id, standing: other.standing });
    return { sentence, isOurs };
  }

  #warnOf(node: Node): void {
    const other = shownBy(node);
    if (other === undefined || this.#own === undefined) return;
    const names = differences(this.#own, other).join(", ");
    if (names !== "") this.#say(node, "warn", `${names} of this process and of another one differ`);
  }

  #say({ id }: Node, level: "warn" | "error", sentence: string): void {
    if (this.#said.get(id) === sentence) return;
    this.#said.set(id, sentence);
    this.#runtime.log[level]({ node: id }, sentence);
  }

  #nodes(): Node[] {
    // Moleculer declares its registry's catalogues with classes it does not export.
    const registry = this.#broker?.registry as unknown as { nodes: { toArray(): Node[] } } | undefined;
    return registry?.nodes.toArray().filter(({ available }) => available) ?? [];
  }
}

/** Of another node than this one. */
function shownBy({ local, metadata }: Node): SettingsHashes | undefined {
  return local ? undefined : readFingerprints(metadata?.records);
}
