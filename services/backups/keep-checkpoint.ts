// Stores a checkpoint of the audit log as an object beside the backups, under the same lock against deletion.
// The audit service has no credentials for the store, and this service has no signing key. Without a bucket
// the store is a folder on this machine, where the checkpoints' own folder is too; then nothing is stored.
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type { Call } from "../shared/bus/bus.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { storeOf } from "../../mixins/store/store-of.ts";
import { StoreError } from "../../mixins/store/store.ts";
import type { keepCheckpointContract } from "./keep-checkpoint.contract.ts";

type Params = ParamsOf<(typeof keepCheckpointContract)["backups.keep_checkpoint"]>;

/** Reserve within the request's timeout, so that the answer arrives before the caller gives up. */
const spareMs = 2_000;

/** "off": there is no bucket. `reason` tells why the store failed. */
export async function keepCheckpoint(
  call: Call<Params>,
): Promise<{ state: "taken" | "off" | "failed"; reason: string }> {
  const { runtime, params } = call;
  const { s3Endpoint, requestTimeoutMs } = runtime.config;
  if (s3Endpoint === undefined) return { state: "off", reason: "off" };
  const inTime = AbortSignal.timeout(Math.max(100, requestTimeoutMs - spareMs));
  try {
    const body = Readable.from([Buffer.from(`${params.document}\n`)]);
    await storeOf(runtime).put(keyOf(params), body, inTime);
    return { state: "taken", reason: "" };
  } catch (error) {
    if (error instanceof StoreError) return { state: "failed", reason: error.fault };
    if (inTime.aborted) return { state: "failed", reason: "timeout" };
    throw error;
  }
}

/**
 * The keys sort by number. A key contains the hash of the document, so a different document with the same
 * number is stored beside the first one and never overwrites it.
 */
export function keyOf({ number, document }: Params): string {
  const hash = createHash("sha256").update(document).digest("hex").slice(0, 32);
  return `checkpoints/${String(number).padStart(16, "0")}-${hash}.jsonl`;
}
