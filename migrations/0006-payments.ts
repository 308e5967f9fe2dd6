// Payments as their providers tell of them, and the inbox of what was told.
import { Migration } from "@mikro-orm/migrations";
import { payments } from "./0006/payments.ts";

export class Payments extends Migration {
  override up(): void {
    this.addSql(payments);
  }
}
