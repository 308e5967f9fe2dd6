// Protects pooled connections: if PostgreSQL disappears or hangs, only the running statements fail.
import type { Socket } from "node:net";
import type pg from "pg";

/** Longer than the statement timeout (5 s), which gives the better error while the server works. */
const silenceMsMax = 5_500;
/** By then every caller whose statement failed with the connection has released it, if it releases at all. */
const releaseAfterMs = 100;

// Parts that are missing in the driver's types: the socket, the statement that waits for an answer and, on a client that is
// checked out, its release.
interface Driver {
  connection: { stream: Socket };
  _activeQuery: unknown;
  release?: (destroy: boolean) => void;
}

/** @param onSilence called when the server did not answer */
export function guardConnection(client: pg.ClientBase, onSilence: () => void): void {
  // Both types describe the same object.
  const driver = client as unknown as Driver;
  boundSilence(driver, onSilence);
  // This listener also keeps the event from ending the process: the pool listens only while a connection is idle.
  client.on("error", () => {
    setTimeout(() => releaseLost(driver), releaseAfterMs).unref();
  });
}

/**
 * A hanging server, or a network that drops packets, neither answers nor closes, and the statement timeout runs on the server. So
 * a connection with a running statement and without traffic for a while is closed here.
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
 * kysely 0.29 never releases the connection of a transaction whose BEGIN or ROLLBACK fails, as both do on a lost connection: ten
 * of them would empty the pool for good. A second release throws, which shows that it was not needed.
 */
function releaseLost(driver: Driver): void {
  try {
    driver.release?.(true);
  } catch {
    // Already released.
  }
}
