// Reads the certificate that a server presents, over a connection of its own that is closed at once. Only what the start of TLS
// requires is sent. The certificate is not verified here: clients of the server do that.
import { createConnection, isIP, type Socket } from "node:net";
import { connect, type PeerCertificate, type TLSSocket } from "node:tls";

export interface TlsServer {
  host: string;
  port: number;
  /** How TLS starts with this server. */
  begins: "at once" | "smtp" | "postgres" | "nats";
}

export interface Lifetime {
  from: Date;
  until: Date;
}

const msMax = 3_000;
const greetingCharsMax = 8_192;

/** @returns undefined when TLS cannot be started: then nothing is known about the certificate */
export function peerLifetime(server: TlsServer): Promise<Lifetime | undefined> {
  const socket = createConnection({ host: server.host, port: server.port });
  let secured: TLSSocket | undefined;
  return new Promise<Lifetime | undefined>((resolve) => {
    const late = setTimeout(resolve, msMax, undefined);
    const end = (found: Lifetime | undefined) => {
      clearTimeout(late);
      resolve(found);
    };
    socket.on("error", () => end(undefined));
    socket.on("close", () => end(undefined));
    socket.once("connect", () => {
      void startTls[server.begins](socket)
        .then((isReady) => {
          if (!isReady) return end(undefined);
          const servername = isIP(server.host) === 0 ? server.host : "";
          // Expired and untrusted certificates are to be read too.
          secured = connect({ socket, servername, rejectUnauthorized: false });
          secured.on("error", () => end(undefined));
          secured.once("secureConnect", () => end(lifetimeOf(secured?.getPeerCertificate())));
        })
        .catch(() => end(undefined));
    });
  }).finally(() => {
    secured?.destroy();
    socket.destroy();
  });
}

/** Only the server's own certificate: an expired authority may be presented on purpose, for old clients. */
function lifetimeOf(shown: PeerCertificate | undefined): Lifetime | undefined {
  if (shown?.valid_to === undefined) return undefined;
  return { from: new Date(shown.valid_from), until: new Date(shown.valid_to) };
}

/** @returns the first match of the pattern in the received text, or null when the text becomes too long */
function waitForText(socket: Socket, pattern: RegExp): Promise<RegExpExecArray | null> {
  return new Promise((resolve) => {
    let text = "";
    const listen = (chunk: Buffer) => {
      text += chunk.toString("latin1");
      const found = pattern.exec(text);
      if (found === null && text.length < greetingCharsMax) return;
      socket.off("data", listen);
      socket.pause();
      resolve(found);
    };
    socket.on("data", listen);
    socket.resume();
  });
}

/** The exchange before TLS starts, per protocol. @returns whether the server agrees */
const startTls: Record<TlsServer["begins"], (socket: Socket) => Promise<boolean>> = {
  "at once": async () => true,
  /** RFC 3207 */
  async smtp(socket) {
    if ((await waitForText(socket, /^220 .*\r\n/m)) === null) return false;
    socket.write("EHLO localhost\r\n");
    if ((await waitForText(socket, /^250 .*\r\n/m)) === null) return false;
    socket.write("STARTTLS\r\n");
    return (await waitForText(socket, /^220[ -].*\r\n/m)) !== null;
  },
  /** https://www.postgresql.org/docs/18/protocol-flow.html#PROTOCOL-FLOW-SSL: an SSLRequest is answered by one byte. */
  async postgres(socket) {
    socket.write(Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]));
    return (await waitForText(socket, /^[SNE]/))?.[0] === "S";
  },
  /** https://docs.nats.io/reference/reference-protocols/nats-protocol: the server sends INFO first, and TLS follows. */
  nats: async (socket) => (await waitForText(socket, /^INFO .*\r\n/)) !== null,
};
