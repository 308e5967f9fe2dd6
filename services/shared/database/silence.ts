// A PostgreSQL that stands still, or a network that swallows packets, neither answers nor closes: the statement's own
// timeout counts on the server, so nothing would end the wait. A connection on which nothing came or went for
// `silenceMsMax` while a statement was under way is closed; the statement fails, and the pool opens another.
import type { Socket } from "node:net";
import type pg from "pg";

/** Longer than the statement timeout (5 s), which is the better answer where the server lives. */
const silenceMsMax = 5_500;

// What the driver's declarations leave out: the socket, and the statement that waits for an answer.
interface Driver {
  connection: { stream: Socket };
  _activeQuery: unknown;
}

export function boundSilence(client: pg.ClientBase): void {
  const driver = client as unknown as Driver;
  const { stream } = driver.connection;
  stream.setTimeout(silenceMsMax, () => {
    if (driver._activeQuery == null) return;
    stream.destroy(Object.assign(new Error("PostgreSQL does not answer"), { code: "ETIMEDOUT" }));
  });
}
