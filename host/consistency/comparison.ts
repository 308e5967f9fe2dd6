// Compares this process's settings with those of the other nodes, at its start and whenever another node appears. A process whose
// settings conflict with theirs names the setting, and exits before it starts to work. Always the newer process exits: a settled
// one stays, whatever another node shows. A difference that does little harm is only logged.
import type { ServiceBroker } from "moleculer";
import { notifyNodes } from "../nats/bus-link.ts";
import { StartError } from "../../services/shared/start-error.ts";
import {
  conflicts,
  differences,
  type SettingsHashes,
  fingerprintsOf,
  mustExit,
  readFingerprints,
  type ProcessPhase,
} from "./equal-settings.ts";
import type { Runtime } from "../process/runtime.ts";
import { secretNeeds } from "../settings/secret-needs.ts";

/** By then the announcements of other nodes have arrived, also on a busy machine. */
const settleDelayMs = 30_000;

interface Node {
  id: string;
  local: boolean;
  available: boolean;
  metadata?: { records?: unknown } | null;
}

/** Does nothing in a process without a bus. */
export class Comparison {
  readonly #runtime: Runtime;
  /** The last sentence logged per node, so that each is logged once. */
  readonly #logged = new Map<string, string>();
  #broker: ServiceBroker | undefined;
  #own: SettingsHashes | undefined;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /**
   * Publishes this process's hashes: before it connects to the bus, and once its secrets are known.
   * @param onConflict called when this process must exit because it conflicts with another one
   */
  publish(broker: ServiceBroker, onConflict: (sentence: string) => void): void {
    if (this.#runtime.config.natsUrls === undefined) return;
    this.#broker = broker;
    this.#publishPhase("starting");
    const compare = ({ node }: { node: Node }) => this.#compareWith(node, onConflict);
    broker.localBus.on("$node.connected", compare);
    broker.localBus.on("$node.updated", compare);
    broker.localBus.on("$node.disconnected", ({ node }: { node: Node }) => void this.#logged.delete(node.id));
  }

  /** @throws StartError naming the setting that conflicts with an older node */
  assertFits(): void {
    for (const node of this.#nodes()) {
      const found = this.#findConflict(node);
      if (found?.isOurs === true) throw new StartError(found.sentence);
    }
  }

  /** Called when this process is ready: from now on newer processes give way to it. */
  async ready(): Promise<void> {
    await this.#announce("new");
    // If the bus is disconnected then, the state is published after the reconnect.
    setTimeout(() => void this.#announce("settled").catch(() => undefined), settleDelayMs).unref();
  }

  /** Whether another available process accepts tokens of a key. @param keyId the `kid` of a token */
  isTokenKeyElsewhere(keyId: string): boolean {
    return this.#nodes().some((node) => hashesOf(node)?.tokens?.accepts.includes(keyId) === true);
  }

  async #announce(standing: ProcessPhase): Promise<void> {
    // A stopping broker has already published that it offers nothing.
    if (this.#broker === undefined || this.#broker.stopping) return;
    this.#publishPhase(standing);
    // Moleculer copies the metadata when it builds its own node info. Its types do not declare this function.
    const registry = this.#broker.registry as unknown as { regenerateLocalRawInfo(isOffered: boolean): void };
    registry.regenerateLocalRawInfo(false);
    await notifyNodes(this.#broker);
  }

  #publishPhase(standing: ProcessPhase): void {
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

  #compareWith(node: Node, onConflict: (sentence: string) => void): void {
    const found = this.#findConflict(node);
    // A starting process checks by itself, and then exits with a StartError.
    if (found?.isOurs === true && this.#own?.standing !== "starting") onConflict(found.sentence);
    else if (found !== undefined) this.#logOnce(node, "error", found.sentence);
    else this.#warnOfDifferences(node);
  }

  /** @returns undefined without a conflict; isOurs: whether this process must exit */
  #findConflict(node: Node): { sentence: string; isOurs: boolean } | undefined {
    const other = hashesOf(node);
    const own = this.#own;
    if (other === undefined || own === undefined || other.standing === "starting") return undefined;
    const [name] = conflicts(own, other);
    if (name === undefined) return undefined;
    const sentence =
      name === "JWT_SECRET"
        ? `JWT_SECRET of this process differs from that of the process ${node.id}, and JWT_PREVIOUS_SECRETS do not hold each other's: one would refuse the tokens of the other.`
        : `${name} of this process differs from that of the process ${node.id}: it must be the same on all that have it.`;
    const id = this.#broker?.nodeID ?? "";
    const isOurs = mustExit({ id, standing: own.standing }, { id: node.id, standing: other.standing });
    return { sentence, isOurs };
  }

  #warnOfDifferences(node: Node): void {
    const other = hashesOf(node);
    if (other === undefined || this.#own === undefined) return;
    const names = differences(this.#own, other).join(", ");
    if (names !== "") this.#logOnce(node, "warn", `${names} of this process and of another one differ`);
  }

  #logOnce({ id }: Node, level: "warn" | "error", sentence: string): void {
    if (this.#logged.get(id) === sentence) return;
    this.#logged.set(id, sentence);
    this.#runtime.log[level]({ node: id }, sentence);
  }

  #nodes(): Node[] {
    // Moleculer declares its registry's catalogues with classes it does not export.
    const registry = this.#broker?.registry as unknown as { nodes: { toArray(): Node[] } } | undefined;
    return registry?.nodes.toArray().filter(({ available }) => available) ?? [];
  }
}

/** @returns the hashes of another node; undefined for the local one */
function hashesOf({ local, metadata }: Node): SettingsHashes | undefined {
  return local ? undefined : readFingerprints(metadata?.records);
}
