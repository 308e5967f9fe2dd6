/**
 * Sends mails: by SMTP when a server is configured, otherwise as files. At most 100 mails are in progress at
 * a time.
 */
import { createTransport } from "nodemailer";
import type { SendMailOptions } from "nodemailer";
import { isWritable, writeEml } from "./eml-folder.ts";
import type { Letter } from "./letter.ts";
import { defaultTimeouts, smtpOptions } from "./smtp-options.ts";
import { cachedUtf8Support } from "./utf8-support.ts";
import type { MailTimeouts } from "./smtp-options.ts";

interface MailMessage extends Letter {
  readonly to: string;
}

export interface Mailer {
  /** @throws MailRefused when a retry is useless, MailFailed when a retry may succeed */
  send(message: MailMessage): Promise<void>;
  /** Whether the server answers and accepts the login, or the folder is writable. Never throws. */
  verify(): Promise<boolean>;
  /** Whether the server accepts the letters of this address. True when the server cannot be asked. */
  delivers(address: string): Promise<boolean>;
  /** Refuses further mails, waits for those in progress and closes the connections. */
  close(): Promise<void>;
}

export interface MailerOptions {
  readonly smtpUrl?: string | undefined;
  /** `a@b.example` or `Name <a@b.example>`. */
  readonly from: string;
  /** Folder of the `.eml` files. Not used with `smtpUrl`. */
  readonly directory: string;
  readonly timeouts?: MailTimeouts | undefined;
  /** The name in the EHLO command. Undefined: the machine's host name. */
  readonly greetAs?: string | undefined;
}

/** The address or the subject is invalid, or the server refused this mail permanently (5xx). */
export class MailRefused extends Error {
  override readonly name = "MailRefused";
}

/**
 * A temporary failure: the server was unreachable, too slow or refused temporarily, or too many mails are in
 * progress.
 */
export class MailFailed extends Error {
  override readonly name = "MailFailed";
}

interface Transport {
  send(mail: SendMailOptions): Promise<void>;
  verify(): Promise<boolean>;
  takesUtf8(): Promise<boolean | undefined>;
  close(): void;
}

const inProgressMax = 100;
const singleAddress = /^[^\s\p{Cc}@<>,;:"()[\]\\]{1,64}@[^\s\p{Cc}@<>,;:"()[\]\\]{1,255}$/u;

/** Creates the mailer. It opens no connection before the first mail. */
export function createMailer({ smtpUrl, from, directory, timeouts, greetAs }: MailerOptions): Mailer {
  const post =
    smtpUrl === undefined
      ? fileTransport(directory)
      : smtpTransport(smtpUrl, timeouts ?? defaultTimeouts, greetAs);
  const underWay = new Set<Promise<void>>();
  let closed = false;
  return {
    async send(message) {
      refuseHeaderInjection(message);
      if (closed) throw new MailFailed("the mailer is closed");
      if (underWay.size >= inProgressMax)
        throw new MailFailed(`${inProgressMax} mails are under way already`);
      const sending = post.send(composed(from, message));
      underWay.add(sending);
      await sending.finally(() => underWay.delete(sending));
    },
    verify: async () => !closed && (await post.verify()),
    delivers: async (address) =>
      isAscii(address.slice(0, address.lastIndexOf("@"))) || (await post.takesUtf8()) !== false,
    async close() {
      closed = true;
      await Promise.allSettled(underWay);
      post.close();
    },
  };
}

const isAscii = (text: string) => !/\P{ASCII}/u.test(text);

/** nodemailer removes line breaks too; this check does not depend on that. */
function refuseHeaderInjection({ to, subject }: MailMessage): void {
  if (!singleAddress.test(to)) throw new MailRefused("the recipient is not one e-mail address");
  if (/\p{Cc}/u.test(subject)) throw new MailRefused("the subject holds control characters");
}

function composed(from: string, { to, subject, text, html }: MailMessage): SendMailOptions {
  return {
    from,
    // An object, so that nothing parses the address as a list of addresses.
    to: { name: "", address: to },
    subject,
    text,
    html,
    headers: { "Auto-Submitted": "auto-generated" },
    xMailer: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

function fileTransport(directory: string): Transport {
  const composer = createTransport({ streamTransport: true, buffer: true, newline: "windows" });
  return {
    async send(mail) {
      try {
        const { message } = await composer.sendMail({ ...mail, ...readable(mail) });
        if (!Buffer.isBuffer(message)) throw new TypeError("the composer was asked for a buffer");
        await writeEml(directory, message);
      } catch (error) {
        throw new MailFailed("the mail could not be written to its folder", { cause: error });
      }
    },
    verify: () => isWritable(directory),
    takesUtf8: async () => true,
    close: () => composer.close(),
  };
}

/**
 * Sends both bodies as 8-bit text instead of quoted-printable, because a file passes no relay, and a person
 * who searches the file for a link finds it in one piece.
 */
function readable({ text, html }: SendMailOptions): SendMailOptions {
  const part = (type: string, content: SendMailOptions["text"]) => {
    const body = typeof content === "string" ? content : "";
    return { raw: `Content-Type: ${type}; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n${body}` };
  };
  return {
    text: undefined,
    html: undefined,
    alternatives: [part("text/plain", text), part("text/html", html)],
  };
}

function smtpTransport(smtpUrl: string, timeouts: MailTimeouts, greetAs: string | undefined): Transport {
  const options = smtpOptions(smtpUrl, timeouts, greetAs);
  const transport = createTransport(options);
  return {
    async send(mail) {
      try {
        await transport.sendMail({ ...mail, signal: AbortSignal.timeout(timeouts.totalMs) });
      } catch (error) {
        throw asMailError(error);
      }
    },
    async verify() {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<false>((resolve) => {
        timer = setTimeout(resolve, timeouts.totalMs, false);
      });
      const answer = transport.verify().catch(() => false);
      return Promise.race([answer, late]).finally(() => clearTimeout(timer));
    },
    takesUtf8: cachedUtf8Support(options, timeouts.connectMs),
    close: () => transport.close(),
  };
}

/**
 * A permanent refusal is a 5xx to the recipient or the content. A refused login (535) can be corrected, so it
 * is retried.
 */
function asMailError(error: unknown): Error {
  if (typeof error !== "object" || error === null) return new MailFailed(String(error));
  // Any of the three may be missing, so each is checked or converted below.
  const { message = "unknown", code, responseCode } = error as Partial<Record<string, unknown>>;
  const forGood = (code === "EENVELOPE" || code === "EMESSAGE") && Number(responseCode) >= 500;
  const text = `the mail server did not take the mail: ${String(message).slice(0, 300)}`;
  return forGood ? new MailRefused(text, { cause: error }) : new MailFailed(text, { cause: error });
}
