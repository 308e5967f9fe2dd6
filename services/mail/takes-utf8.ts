// Whether the mail server delivers to names beyond ASCII (SMTPUTF8, RFC 6531), which it says when it is greeted. Domains need
// nothing of it: nodemailer writes them in ASCII.
import SMTPConnection from "nodemailer/lib/smtp-connection";
import type { SMTPPoolOptions } from "nodemailer";

const heldMs = 600_000;

/** @returns undefined when the server could not be asked; what it said counts for ten minutes */
export function utf8Question(
  options: SMTPPoolOptions,
  timeoutMs: number,
): () => Promise<boolean | undefined> {
  let known: { asked: Promise<boolean | undefined>; until: number } | undefined;
  return async () => {
    if (known === undefined || performance.now() > known.until)
      known = { asked: ask(options, timeoutMs), until: performance.now() + heldMs };
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
      // nodemailer keeps to itself what the server offers.
      const { _supportedExtensions: offered = [] } = connection as unknown as {
        _supportedExtensions?: string[];
      };
      end(offered.includes("SMTPUTF8"));
    });
  }).finally(() => connection.close());
}
