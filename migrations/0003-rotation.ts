// The rotation of the master key: its walk through all that is sealed, and what did not open on the way.
import { Migration } from "@mikro-orm/migrations";
import { rotation } from "./0003/rotation.ts";

export class Rotation extends Migration {
  override up(): void {
    this.addSql(rotation);
  }
}
