// Self-healing: the known faults that were met or seeded, what happened of them, and when each was last looked for.
import { Migration } from "@mikro-orm/migrations";
import { incidents } from "./0021/incidents.ts";

export class SelfHealing extends Migration {
  override up(): void {
    this.addSql(incidents);
  }
}
