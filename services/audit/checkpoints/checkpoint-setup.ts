// The means of a process for checkpoints: the signing key and the folder.
import { perRuntime } from "../../shared/per-runtime.ts";
import { CheckpointFolder } from "./checkpoint-folder.ts";
import { FolderState } from "./folder-state.ts";
import { type PublicKeys, SigningKey } from "./signing-key.ts";

/** The signing key and the folder of checkpoints. */
export interface CheckpointSetup {
  key: SigningKey;
  /** The public key that belongs to `key`. */
  ownKeys: PublicKeys;
  /** Undefined when no folder is configured. */
  folder: CheckpointFolder | undefined;
  folderState: FolderState | undefined;
}

/** Created at first use; logs the id of the key. */
export const checkpointSetupOf = perRuntime(({ secrets, config, log }): CheckpointSetup => {
  const key = new SigningKey(secrets.audit);
  log.info({ keyId: key.id }, "checkpoints of the audit log are signed with this key");
  const ownKeys: PublicKeys = new Map([[key.id, key.publicKey]]);
  const path = config.auditCheckpointDir;
  const folder = path === undefined ? undefined : new CheckpointFolder(path);
  return { key, ownKeys, folder, folderState: folder && new FolderState(folder, ownKeys) };
});
