// A tenant's checkpoints for its administrators: each as a document with only that tenant's head, signed
// again, so that tenants learn nothing about each other. Only documents with a valid signature are signed
// again.
import type { Call } from "../../shared/bus/bus.ts";
import { platform } from "../../shared/database/scope.ts";
import type { ParamsOf } from "../../shared/params/types.ts";
import { tenantToActIn } from "../../shared/administered-scope.ts";
import type { CheckpointPage, auditContract, SignedExcerpt } from "../audit.contract.ts";
import { hashOf, readCheckpoint, signDocument } from "./checkpoint.rules.ts";
import { readKeys } from "./checkpoint-rows.ts";
import { headOf } from "./folder-state.ts";
import { checkpointSetupOf } from "./checkpoint-setup.ts";
import { keyIdOf, readPublicKey, type SigningKey } from "./signing-key.ts";
import type { Column, RowOf } from "../../shared/database/row.ts";

type Params = ParamsOf<(typeof auditContract)["audit.checkpoints"]>;

/** One page of excerpts, the newest first, and the public keys. */
export async function listCheckpoints(call: Call<Params>): Promise<CheckpointPage> {
  const { before, limit } = call.params;
  const tenantId = tenantToActIn(call.caller, call.params.tenant_id) ?? 0;
  const { key } = checkpointSetupOf(call.runtime);
  const known = await readKeys(call.db);
  const keys = new Map([[key.id, key.publicKey]]);
  for (const { public_key: pem } of known) {
    const each = readPublicKey(pem);
    if (each !== undefined) keys.set(keyIdOf(each), each);
  }
  const rows = await call.db.read<
    RowOf<"audit_checkpoints", "number", { line: Column<"audit_checkpoints", "document"> }>
  >(platform, {
    name: "audit.checkpoints_of",
    text: `select number, document as line from audit_checkpoints
      where tenant_ids @> array[$1::integer] and number < coalesce($2::bigint, 9223372036854775807)
      order by number desc limit $3`,
    values: [tenantId, before ?? null, limit],
  });
  const items = rows.flatMap(({ line }) => excerptOf(readCheckpoint(line, keys), line, tenantId, key) ?? []);
  return {
    items,
    next_before: rows.length < limit ? null : Number(rows.at(-1)?.number),
    keys: known.map(({ key_id: id, public_key: pem }) => ({ key_id: id, public_key: pem })),
  };
}

function excerptOf(
  document: ReturnType<typeof readCheckpoint>,
  line: string,
  tenantId: number,
  key: SigningKey,
): SignedExcerpt | undefined {
  const head = headOf(document, tenantId);
  if (document === undefined || head === undefined) return undefined;
  const { v, number, at, installation } = document;
  const facts = { v, number, at, installation, excerpt_of: hashOf(line), heads: [head] };
  // The line was created by signDocument, so it has this type.
  return JSON.parse(signDocument(facts, key)) as SignedExcerpt;
}
