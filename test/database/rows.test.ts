// Every statement of the code whose text is fixed, as PostgreSQL describes it, against the type that the code gives to its rows.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { TestDatabase } from "../support/service.ts";
import { type DescribedColumn, Describer, rowFaults } from "./compare-rows.ts";
import { type DeclaredRow, declaredRows } from "./declared-rows.ts";
import { startMigratedDatabase } from "./migrated.ts";

const root = join(import.meta.dirname, "../..");

/**
 * Files whose statements are put together at run time, from filters, a list of tables or the columns of a change. Their rows'
 * types are of the tables too; that the statement answers these columns is left to the tests of the operation.
 */
const composing = [
  "mixins/healing/job-faults.ts",
  "mixins/healing/overdue-rows.ts",
  "services/audit/export-audit.ts",
  "services/audit/list-audit.ts",
  "services/audit/read-entries.ts",
  "services/audit/sum-up-repeats.ts",
  "services/backups/backup-faults.ts",
  "services/backups/clear-staged.ts",
  "services/backups/download.ts",
  "services/backups/job-store.ts",
  "services/backups/read-plan.ts",
  "services/crypto/reseal-batch.ts",
  "services/crypto/retire-keys.ts",
  "services/crypto/rotate.ts",
  "services/crypto/rotation-status.ts",
  "services/crypto/sweep-keys.ts",
  "services/messenger/end-link.ts",
  "services/patients/change-patient.ts",
  "services/patients/create-patient.ts",
  "services/patients/list-patients.ts",
  "services/patients/patient-records.ts",
  "services/patients/read-patient.ts",
  "services/patients/recorded-read.ts",
  "services/payments/list-notifications.ts",
  "services/payments/list-payments.ts",
  "services/payments/sweep-notifications.ts",
  "services/self-healing/database-faults.ts",
  "services/self-healing/list-incidents.ts",
  "services/shared/database/bulk-load.ts",
  "services/shared/database/guard.ts",
  "services/tenants/list-departments.ts",
  "services/users/list-users.ts",
  "services/users/purge-users.ts",
  "services/users/user-count-faults.ts",
  "services/webhooks/delivery-metrics.ts",
  "services/webhooks/list-deliveries.ts",
];

describe("the rows of statements", () => {
  let database: TestDatabase;
  let describer: Describer;
  let rows: DeclaredRow[];
  beforeAll(async () => {
    rows = declaredRows(root);
    database = await startMigratedDatabase();
    describer = await Describer.of(database.owner);
  });
  afterAll(() => database.stop());

  it("are what PostgreSQL answers to the statement, column by column", async () => {
    const faults: string[] = [];
    for (const row of rows) {
      if (row.text === undefined) continue;
      const answered = await describer.describe(row.text).catch((error: unknown) => error);
      faults.push(
        ...(Array.isArray(answered)
          ? rowFaults(row, answered as DescribedColumn[])
          : [`${row.site} is not understood: ${String(answered)}`]),
      );
    }
    expect(faults).toEqual([]);
  });
  it("are known for most statements; files that put theirs together are named", () => {
    const composed = rows
      .filter(({ text }) => text === undefined)
      .map(({ site }) => site.replace(/:\d+$/, ""));
    expect([...new Set(composed)].toSorted()).toEqual(composing);
    expect(composed.length).toBeLessThan(rows.length / 5);
  });
  it("have columns of tables from the tables' types: what is typed by hand is computed", () => {
    const columns = rows.flatMap((row) => row.columns);
    const byHand = columns.filter(({ origin }) => origin === "hand");
    // Counts, ages and sums; catalogues of the server and tables of the job queue; and, in statements of unfixed text, what
    // nothing looks at. A third of all today.
    expect(byHand.length).toBeLessThan(columns.length * 0.4);
  });
});

describe("the comparison", () => {
  const number = { kinds: ["number"], isOptional: false } as const;
  const row: DeclaredRow = {
    site: "here:1",
    text: "select id, role from users",
    isUnion: false,
    columns: [
      { ...number, name: "id", origin: "table" },
      { name: "role", kinds: ["string"], isOptional: false, origin: "table" },
    ],
  };
  const id = { name: "id", type: "int4", origin: "users.id" };
  const role = { name: "role", type: "text", origin: "users.role" };

  it("finds nothing where both are alike", () => {
    expect(rowFaults(row, [id, role])).toEqual([]);
  });
  it("finds a column that is not answered, and one too many", () => {
    expect(rowFaults(row, [id, { ...role, name: "rank" }])).toEqual([
      "here:1 role is not answered",
      "here:1 rank is answered, and not in the type",
    ]);
  });
  it("finds a column of another type", () => {
    expect(rowFaults(row, [{ ...id, type: "int8" }, role])).toEqual(["here:1 id is string, not number"]);
    expect(rowFaults(row, [id, { ...role, type: "_text" }])).toEqual(["here:1 role is array, not string"]);
  });
  it("finds a table's column that is typed by hand", () => {
    const byHand = { ...row, columns: row.columns.map((column) => ({ ...column, origin: "hand" as const })) };
    expect(rowFaults(byHand, [id, { ...role, origin: undefined }])).toEqual([
      "here:1 id is users.id, and typed by hand",
    ]);
  });
  it("finds a type of PostgreSQL's that nobody has looked at", () => {
    expect(rowFaults(row, [{ ...id, type: "point" }, role])).toEqual([
      "here:1 id: it is not said what the driver makes of point",
    ]);
  });
});
