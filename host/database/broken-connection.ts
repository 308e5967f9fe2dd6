// What a pooled connection needs so that a PostgreSQL that goes away, or stands still, costs the statements under way
// and nothing more.
import type { Socket } from "node:net";
import type pg from "pg";

/** Longer than the statement timeout (5 s), which is the better answer where the server lives. */
const silenceMsMax = 5_500;
/** By then everyone whose statement failed with the connection has released it, if ever they will. */
const releaseAfterMs = 100;

// What the driver's declarations leave out: the socket, the statement that waits for an answer, and on a client that
// is checked out, its release.
interface Driver {
  connection: { stream: Socket };
  _activeQuery: unknown;
  release?: (destroy: boolean) => void;
}

/** @param onSilence told when the server did not answer */
export function guardConnection(client: pg.ClientBase, onSilence: () => void): void {
  // The declared part and ours describe one object.
  const driver = client as unknown as Driver;
  boundSilence(driver, onSilence);
  // Also keeps the event from ending the process: the pool itself listens only while a connection is idle.
  client.on("error", () => {
    setTimeout(() => releaseLost(driver), releaseAfterMs).unref();
  });
}

/**
 * A server that stands still, or a network that swallows packets, neither answers nor closes, and the statement's own
 * timeout counts on the server. So a connection on which nothing came or went for a while, with a statement under way,
 * is closed here.
 */
function boundSilence(driver: Driver, onSilence: () => void): void {
  const { stream } = driver.connection;
  stream.setTimeout(silenceMsMax, () => {
    if (driver._activeQuery == null) return;
    onSilence();
    stream.destroy(Object.assign(new Error("PostgreSQL does not answer"), { code: "ETIMEDOUT" }));
  });
}

/**
 * kysely 0.29 never releases the connection of a transaction whose BEGIN or ROLLBACK fails, as both do on a lost one:
 * ten of them would empty the pool for good. Releasing twice throws, which says that it was not needed.
 */
function releaseLost(driver: Driver): void {
  try {
    driver.release?.(true);
  } catch {
    // Released already.
  }
}
