// The list of all columns with encrypted text. Nothing can be encrypted for a column that is not listed, and the key rotation
// processes exactly these. It lies here because the crypto service, which rotates, imports no other service. A test compares it
// with the database.
// A column may hold several fields as one text if they are read and shown together: encryption costs per text, not per byte. It
// also hides the length of a single field and whether it is present. The owning service defines the content of such a column.

export const sealedTables = {
  patients: { id: "id", tenant: "tenant_id", columns: ["identity", "notes"] },
  patient_records: { id: "id", tenant: "tenant_id", columns: ["body"] },
  webhooks: { id: "id", tenant: "tenant_id", columns: ["secret", "previous_secret"] },
} as const satisfies Record<string, { id: string; tenant: string; columns: readonly string[] }>;

export type SealedTable = keyof typeof sealedTables;
export type SealedColumn<T extends SealedTable> = (typeof sealedTables)[T]["columns"][number];
