// What a walk knows of its time: since when everybody can know of the rotation, and how long it has walked.
import { Migration } from "@mikro-orm/migrations";

const walk = `
-- When a worker first saw the rotation, which is after it was committed: from then on nobody takes the old keys any more.
alter table rotations add column seen_at timestamptz,
  -- Of the walking and its rests, without the wait for processes to let go and without the time nobody walked.
  add column walked_ms bigint not null default 0;
`;

export class Walk extends Migration {
  override up(): void {
    this.addSql(walk);
  }
}
