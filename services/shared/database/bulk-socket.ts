// The socket of a connection that moves whole tables: everything is read into one piece of memory, again and again. Node
// makes a new piece for every read otherwise, hundreds of megabytes in a backup, each of which the garbage collector sees.
import { Socket } from "node:net";

/** As much as a loopback socket gives at once. */
const readBytes = 256 * 1024;

interface Connecting {
  ssl?: unknown;
}

/** For the driver's option `stream`. Under TLS the bytes are read by what is above the socket, so it is a plain one. */
export function bulkSocket({ ssl }: Connecting): Socket {
  if (ssl !== undefined && ssl !== false) return new Socket();
  const socket: Socket = new Socket({
    onread: {
      buffer: Buffer.allocUnsafeSlow(readBytes),
      callback(length, buffer) {
        const bytes = Buffer.from(buffer.buffer, buffer.byteOffset, length);
        socket.emit("data", lent(socket) ? bytes : Buffer.from(bytes));
        return true;
      },
    },
  });
  return socket;
}

const lending = new WeakSet<Socket>();
const lent = (socket: Socket) => lending.has(socket);

/** While whoever listens takes what it needs before it returns, and keeps nothing. */
export function lend(socket: unknown, on: boolean): void {
  if (!(socket instanceof Socket)) return;
  if (on) lending.add(socket);
  else lending.delete(socket);
}
