// Payments as their providers tell of them, and the inbox of what was told; and a quicker audit chain for both.
import { Migration } from "@mikro-orm/migrations";
import { auditChain } from "./0006/audit-chain.ts";
import { payments } from "./0006/payments.ts";

export class Payments extends Migration {
  override up(): void {
    for (const part of [auditChain, payments]) this.addSql(part);
  }
}
