/** A real mail server on a free port of this machine that keeps what it is sent. */
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import type { SMTPServerOptions } from "smtp-server";

export interface Catcher {
  readonly port: number;
  readonly mails: { from: string; to: string[]; raw: Buffer; secure: boolean; user: string }[];
  close(): Promise<void>;
}

const folder = new URL("./certificate/", import.meta.url);
/** Self-signed, of this test folder alone; valid for 127.0.0.1 and localhost. */
export const certificate = await readFile(new URL("certificate.pem", folder), "utf8");
const key = await readFile(new URL("key.pem", folder), "utf8");

export async function catchMails(options: SMTPServerOptions = {}): Promise<Catcher> {
  const mails: Catcher["mails"] = [];
  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    closeTimeout: 200,
    key,
    cert: certificate,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom ? mailFrom.address : "",
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks),
          secure: session.secure,
          user: typeof session.user === "string" ? session.user : "",
        });
        done();
      });
    },
    ...options,
  });
  // A client that gives up in the middle is part of the tests.
  server.on("error", () => undefined);
  const listener = server.listen(0, "127.0.0.1");
  await new Promise<void>((resolve) => listener.once("listening", resolve));
  // A TCP server has an address object once it listens.
  const { port } = listener.address() as AddressInfo;
  return { port, mails, close: () => new Promise((resolve) => server.close(() => resolve())) };
}
