// Which columns hold sealed text: the one list of them. Nothing can be sealed for a column that is not in it, and the
// rotation of keys walks exactly these. It stands here and not beside the rows because the crypto service, which rotates,
// imports no other service. A test holds it against the database.
// A column may hold several fields as one text, when they are read and shown together: sealing and opening cost per text,
// not per byte, and neither the length of a single field nor whether it is there can be seen. What such a column holds, its
// service says.

export const sealedTables = {
  patients: { id: "id", tenant: "tenant_id", columns: ["identity", "notes"] },
  patient_records: { id: "id", tenant: "tenant_id", columns: ["body"] },
  webhooks: { id: "id", tenant: "tenant_id", columns: ["secret", "previous_secret"] },
} as const satisfies Record<string, { id: string; tenant: string; columns: readonly string[] }>;

export type SealedTable = keyof typeof sealedTables;
export type SealedColumn<T extends SealedTable> = (typeof sealedTables)[T]["columns"][number];
