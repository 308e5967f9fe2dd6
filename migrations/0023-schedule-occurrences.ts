// One job per occurrence of a schedule, however far apart the clocks of processes are and however soon the job is done.
import { Migration } from "@mikro-orm/migrations";
import { addDueTask, occurrences } from "./0023/occurrences.ts";

export class ScheduleOccurrences extends Migration {
  override up(): void {
    this.addSql(occurrences);
    this.addSql(addDueTask);
  }
}
