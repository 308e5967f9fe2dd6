// Detects departments whose head doctor was deleted.
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import type { Remedy } from "../../mixins/healing/port.ts";
import { numberIn } from "../../mixins/healing/targets.ts";
import type { Column, RowOf } from "../shared/database/row.ts";

const foundMax = 100;

/**
 * The remedy `department_head_gone`: its target is `department:<id>`; healing removes the head doctor from
 * the department.
 */
export const departmentHeadGone: Remedy = {
  async find(site, { target }) {
    const one = target === undefined ? null : (numberIn("department", target) ?? 0);
    const rows = await site.db.read<
      RowOf<
        "departments",
        "id" | "tenant_id",
        { user_id: NonNullable<Column<"departments", "head_doctor_id">> }
      >
    >(platform, {
      name: "tenants.heads_gone",
      text: `select d.id, d.tenant_id, d.head_doctor_id as user_id from departments d
          join users u on u.tenant_id = d.tenant_id and u.id = d.head_doctor_id
        where u.deleted_at is not null and ($1::integer is null or d.id = $1) order by d.id limit ${foundMax}`,
      values: [one],
    });
    const all = await site.db.readOne<{ targets: number }>(platform, {
      name: "tenants.departments_with_head",
      text: "select count(*)::integer as targets from departments where head_doctor_id is not null",
      values: [],
    });
    return {
      found: rows.map(({ id, tenant_id: tenantId, user_id: userId }) => ({
        target: `department:${id}`,
        tenantId,
        evidence: { department_id: id, user_id: userId },
      })),
      targets: all?.targets ?? 0,
    };
  },
  wouldDo: ({ evidence }) =>
    `Would leave department ${String(evidence["department_id"])} without a head doctor, as user ${String(evidence["user_id"])} is deleted.`,
  async heal(site, target) {
    const id = numberIn("department", target) ?? 0;
    return site.db.change(platform, Caller.system("tenants"), async (change) => {
      const [row] = await change.execute<
        RowOf<"departments", "tenant_id", { user_id: NonNullable<Column<"departments", "head_doctor_id">> }>
      >(
        `select d.tenant_id, d.head_doctor_id as user_id from departments d
           join users u on u.tenant_id = d.tenant_id and u.id = d.head_doctor_id
         where d.id = $1 and u.deleted_at is not null for update of d`,
        [id],
      );
      if (row === undefined) return { changed: 0 };
      const { tenant_id: tenantId, user_id: userId } = row;
      await change.execute("update departments set head_doctor_id = null, updated_at = now() where id = $1", [
        id,
      ]);
      const changes = { head_doctor_id: null, was: userId };
      change.audit({ tenantId, action: "department.update", target: { type: "department", id }, changes });
      change.publishEvent({
        tenantId,
        kind: "department.updated",
        payload: { department_id: id, fields: ["head_doctor_id"] },
      });
      return { changed: 1 };
    });
  },
};
