// The socket of a connection that moves whole tables. It reads everything into one buffer, which is used again and again.
// Otherwise Node.js allocates a buffer for every read: hundreds of megabytes per backup for the garbage collector.
import { Socket } from "node:net";

/** The largest read of a loopback socket. */
const readBytes = 256 * 1024;

interface Connecting {
  ssl?: unknown;
}

/** For the driver's option `stream`. With TLS the layer above the socket reads the bytes, so the socket is a plain one. */
export function bulkSocket({ ssl }: Connecting): Socket {
  if (ssl !== undefined && ssl !== false) return new Socket();
  const socket: Socket = new Socket({
    onread: {
      buffer: Buffer.allocUnsafeSlow(readBytes),
      callback(length, buffer) {
        const bytes = Buffer.from(buffer.buffer, buffer.byteOffset, length);
        socket.emit("data", sharesReadBuffer(socket) ? bytes : Buffer.from(bytes));
        return true;
      },
    },
  });
  return socket;
}

const sharing = new WeakSet<Socket>();
const sharesReadBuffer = (socket: Socket) => sharing.has(socket);

/** Switches the shared buffer on or off. While it is on, listeners must copy what they need before they return. */
export function shareReadBuffer(socket: unknown, on: boolean): void {
  if (!(socket instanceof Socket)) return;
  if (on) sharing.add(socket);
  else sharing.delete(socket);
}
