// Detects whether the mail server accepts local parts beyond ASCII (SMTPUTF8, RFC 6531), which it announces
// in its greeting. Domains need no support: nodemailer converts them to ASCII.
import SMTPConnection from "nodemailer/lib/smtp-connection";
import type { SMTPPoolOptions } from "nodemailer";

const cachedMs = 600_000;

/**
 * @returns a function that asks the server and caches the answer for ten minutes; undefined when the server
 * could not be asked
 */
export function cachedUtf8Support(
  options: SMTPPoolOptions,
  timeoutMs: number,
): () => Promise<boolean | undefined> {
  let known: { asked: Promise<boolean | undefined>; until: number } | undefined;
  return async () => {
    if (known === undefined || performance.now() > known.until)
      known = { asked: ask(options, timeoutMs), until: performance.now() + cachedMs };
    const answer = await known.asked;
    if (answer === undefined) known = undefined;
    return answer;
  };
}

function ask(options: SMTPPoolOptions, timeoutMs: number): Promise<boolean | undefined> {
  const connection = new SMTPConnection(options);
  return new Promise<boolean | undefined>((resolve) => {
    const late = setTimeout(resolve, timeoutMs, undefined);
    const end = (answer: boolean | undefined) => {
      clearTimeout(late);
      resolve(answer);
    };
    connection.once("error", () => end(undefined));
    connection.once("end", () => end(undefined));
    connection.connect(() => {
      // nodemailer offers no public access to the server's extensions.
      const { _supportedExtensions: offered = [] } = connection as unknown as {
        _supportedExtensions?: string[];
      };
      end(offered.includes("SMTPUTF8"));
    });
  }).finally(() => connection.close());
}
