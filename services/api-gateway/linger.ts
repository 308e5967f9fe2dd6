// Closing a connection whose client may still be sending. Closed at once it would be reset as long as bytes come in, and many
// clients then never see the answer they were given. So our side ends first, and what still comes is thrown away for a
// moment, up to a bound; beyond it nothing is read. None of it is taken for a request any more.
import type { Socket } from "node:net";

/** What is beyond waits with the sender, who can read its answer meanwhile. */
const bytesMax = 65_536;
const msMax = 1_000;

/** What was written before is still sent. */
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

/** HTTP's parser gets nothing more, and nothing more is read. What is being answered can still be answered. */
export function stopParsing(socket: Socket): void {
  socket.removeAllListeners("data");
  // Node hands bytes to its parser past the stream until somebody listens to it.
  socket.on("data", () => {});
  socket.pause();
}
