// What a process has for checkpoints: the key that signs them, and the folder that keeps them.
import { perRuntime } from "../../shared/per-runtime.ts";
import { CheckpointFolder } from "./checkpoint-folder.ts";
import { KeptCheckpoints } from "./kept-checkpoints.ts";
import { type PublicKeys, SigningKey } from "./signing-key.ts";

export interface Place {
  key: SigningKey;
  /** The key's own public half. */
  ownKeys: PublicKeys;
  /** undefined: none is wanted. */
  folder: CheckpointFolder | undefined;
  kept: KeptCheckpoints | undefined;
}

export const placeOf = perRuntime(({ secrets, config, log }): Place => {
  const key = new SigningKey(secrets.audit);
  log.info({ keyId: key.id }, "checkpoints of the audit log are signed with this key");
  const ownKeys: PublicKeys = new Map([[key.id, key.publicKey]]);
  const path = config.auditCheckpointDir;
  const folder = path === undefined ? undefined : new CheckpointFolder(path);
  return { key, ownKeys, folder, kept: folder && new KeptCheckpoints(folder, ownKeys) };
});
