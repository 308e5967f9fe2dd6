// The certificate that a server shows: read from a connection that is made for it and ended at once. Nothing is sent but what
// it takes to come to TLS, and nothing is believed: whether the certificate is a good one is for those who use the server.
import { createConnection, isIP, type Socket } from "node:net";
import { connect, type PeerCertificate, type TLSSocket } from "node:tls";

export interface TlsServer {
  host: string;
  port: number;
  /** How TLS is begun there. */
  begins: "at once" | "smtp" | "postgres" | "nats";
}

export interface Lifetime {
  from: Date;
  until: Date;
}

const msMax = 3_000;
const greetingCharsMax = 8_192;

/** @returns undefined where no TLS comes about: then there is nothing to be said of a certificate */
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
      void openings[server.begins](socket)
        .then((isReady) => {
          if (!isReady) return end(undefined);
          const servername = isIP(server.host) === 0 ? server.host : "";
          // An expired or foreign one is to be looked at too.
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

/** Its own alone: what it was signed with may be shown for old clients although it has ended. */
function lifetimeOf(shown: PeerCertificate | undefined): Lifetime | undefined {
  if (shown?.valid_to === undefined) return undefined;
  return { from: new Date(shown.valid_from), until: new Date(shown.valid_to) };
}

/** @returns the first text that matches, or undefined when it becomes too long */
function hears(socket: Socket, pattern: RegExp): Promise<RegExpExecArray | null> {
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

/** What has to be said before TLS may begin. @returns whether it may */
const openings: Record<TlsServer["begins"], (socket: Socket) => Promise<boolean>> = {
  "at once": async () => true,
  /** RFC 3207 */
  async smtp(socket) {
    if ((await hears(socket, /^220 .*\r\n/m)) === null) return false;
    socket.write("EHLO localhost\r\n");
    if ((await hears(socket, /^250 .*\r\n/m)) === null) return false;
    socket.write("STARTTLS\r\n");
    return (await hears(socket, /^220[ -].*\r\n/m)) !== null;
  },
  /** https://www.postgresql.org/docs/18/protocol-flow.html#PROTOCOL-FLOW-SSL: SSLRequest, answered by one byte. */
  async postgres(socket) {
    socket.write(Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]));
    return (await hears(socket, /^[SNE]/))?.[0] === "S";
  },
  /** https://docs.nats.io/reference/reference-protocols/nats-protocol: INFO comes first, and TLS follows it. */
  nats: async (socket) => (await hears(socket, /^INFO .*\r\n/)) !== null,
};
