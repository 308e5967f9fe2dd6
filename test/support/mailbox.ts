// The mails a service under test has written: .eml files in its data folder, parsed as a mail program would.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import PostalMime, { type Email } from "postal-mime";
import { eventually, type TestService } from "./service.ts";

/** Whose mails are looked at: a service that writes them to its own folder. */
type Wrote = Pick<TestService, "settings">;

/** All mails to `address`, whatever its case, so far, oldest first. */
export async function mailsTo(service: Wrote, address: string): Promise<Email[]> {
  const folder = join(service.settings.DATA_DIR ?? "", "mail");
  const names = await readdir(folder).catch(() => []);
  const mails = names.filter((name) => name.endsWith(".eml")).sort();
  const parsed = await Promise.all(
    mails.map(async (name) => PostalMime.parse(await readFile(join(folder, name)))),
  );
  return parsed.filter((mail) => mail.to?.some((to) => to.address?.toLowerCase() === address.toLowerCase()));
}

/** Waits for the mail to `address` whose subject matches; with `after`, for one beyond that many earlier ones. */
export function mailTo(service: Wrote, address: string, subject: RegExp, after = 0): Promise<Email> {
  return eventually(async () => {
    const found = (await mailsTo(service, address)).filter((mail) => subject.test(mail.subject ?? ""));
    return found[after];
  });
}

export const subjects = {
  verify: /^Confirm your e-mail address/,
  reset: /^Choose a new password/,
  changed: /^Your password .* was changed/,
  approved: /^Your account .* is open/,
};

/** The token in a mail's link. */
export function tokenIn(mail: Email): string {
  const token = /[?&]token=([\w-]{43})(?![\w-])/.exec(mail.text ?? "")?.[1];
  if (token === undefined) throw new Error(`no token in ${mail.text}`);
  return token;
}
