// Patients, their records, and the keys under which both are sealed.
import { Migration } from "@mikro-orm/migrations";
import { keys } from "./0002/keys.ts";
import { patients } from "./0002/patients.ts";
import { policies } from "./0002/policies.ts";

export class Patients extends Migration {
  override up(): void {
    for (const part of [keys, patients, policies]) this.addSql(part);
  }
}
