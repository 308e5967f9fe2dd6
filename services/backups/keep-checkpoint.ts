// Keeps a checkpoint of the audit log as an object beside the backups, under the same lock against deletion. The audit's
// process has no login at the store and needs none; this one has no signing key. Without a bucket the store is a folder on
// this machine, as the checkpoints' own folder is: then nothing is kept.
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type { Call } from "../shared/bus/bus.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { storeOf } from "../../mixins/store/store-of.ts";
import { StoreError } from "../../mixins/store/store.ts";
import type { keepCheckpointContract } from "./keep-checkpoint.contract.ts";

type Params = ParamsOf<(typeof keepCheckpointContract)["backups.keep_checkpoint"]>;

/** The answer has to be back before the call is given up. */
const spareMs = 2_000;

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
 * In the order of the numbers. The name has the hash of what is in it: who offers another document of the same number
 * writes beside the first one, and never over it.
 */
export function keyOf({ number, document }: Params): string {
  const hash = createHash("sha256").update(document).digest("hex").slice(0, 32);
  return `checkpoints/${String(number).padStart(16, "0")}-${hash}.jsonl`;
}
