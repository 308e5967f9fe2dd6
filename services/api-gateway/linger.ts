// Closes a connection whose client may still be sending. If it were closed at once, arriving bytes would reset it, and many
// clients would never see their answer. So this side ends first and discards what still arrives, for a short time and up to
// a bound; it reads nothing beyond that. No discarded byte is parsed as a request.
import type { Socket } from "node:net";

/** Further bytes stay with the sender, which can read its answer meanwhile. */
const bytesMax = 65_536;
const msMax = 1_000;

/** Data written earlier is still sent. */
export function closeGently(socket: Socket): void {
  if (socket.destroyed) return;
  let bytes = 0;
  const late = setTimeout(() => socket.destroy(), msMax);
  socket.once("close", () => clearTimeout(late));
  socket.once("end", () => socket.destroy());
  stopParsing(socket);
  socket.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > bytesMax) socket.pause();
  });
  socket.end();
  socket.resume();
}

/** The HTTP parser receives no more bytes, and no more are read. The current request can still be answered. */
export function stopParsing(socket: Socket): void {
  socket.removeAllListeners("data");
  // Node passes bytes to its parser directly until the stream has a listener.
  socket.on("data", () => {});
  socket.pause();
}
