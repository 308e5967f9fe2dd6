/**
 * The texts of the mails. Links are built only from the configured public URL, never from a request's Host
 * header. A stranger could use a name to send an advertisement to somebody else's mailbox, so only plain
 * names appear in the greeting.
 */
import { letter, oneLine } from "./letter.ts";
import type { Letter } from "./letter.ts";

/** The installation that sends the mail. */
export interface Site {
  /** Without a trailing slash. */
  readonly publicUrl: string;
  readonly operator: string;
}

export interface Recipient {
  readonly fullName: string;
  readonly tenantName: string;
}

/** The registered account and its origin. */
export interface Registered {
  readonly role: string;
  readonly department: string | null;
  /** ISO 8601 in UTC. */
  readonly registeredAt: string;
  readonly ip: string | null;
}

/**
 * The verification mail; valid for 24 hours, as its token. It may reach somebody who has registered nothing,
 * so it describes the registration. Neither its page nor the call that it shows accepts the registration's
 * password from somebody who does not know it.
 */
export function verifyEmail(
  site: Site,
  recipient: Recipient,
  token: string,
  registered?: Registered,
): Letter {
  const query = `?token=${encodeURIComponent(token)}`;
  const body = JSON.stringify({ password: "..." });
  return letter(
    `Confirm your e-mail address for ${site.operator}`,
    [
      greeting(recipient),
      `An account at ${tenant(recipient)} was registered with this e-mail address.`,
      ...(registered === undefined ? [] : [{ code: describe(recipient, registered) }]),
      "If it was you, confirm it here, with the password that you chose:",
      { link: `${site.publicUrl}/verify-email${query}`, label: "Confirm the e-mail address" },
      "If it was not you, do not confirm it, and ignore this mail: the account then stays closed. If you want an account here, the same page lets you choose a password of your own, and the one that was chosen is void.",
      "Or through the programming interface:",
      { code: `POST ${site.publicUrl}/api/auth/verify-email${query}\n${body}` },
      "The link is valid for 24 hours and can be used once. A newer one takes its place.",
    ],
    site.operator,
  );
}

function describe({ fullName }: Recipient, { role, department, registeredAt, ip }: Registered): string {
  return [
    `Name: ${plainName.test(fullName) ? fullName : "one that this mail does not repeat"}`,
    `Role: ${oneLine(role)}`,
    `Department: ${department === null ? "none" : oneLine(department)}`,
    `When: ${registeredAt.slice(0, 16).replace("T", " ")} UTC`,
    `From the address: ${ip === null ? "unknown" : oneLine(ip)}`,
  ].join("\n");
}

/** The password reset mail; valid for 1 hour, as its token. */
export function resetPassword(site: Site, recipient: Recipient, token: string): Letter {
  const body = JSON.stringify({ token, new_password: "..." });
  return letter(
    `Choose a new password for ${site.operator}`,
    [
      greeting(recipient),
      `A new password was asked for your account at ${tenant(recipient)}. Choose it here:`,
      {
        link: `${site.publicUrl}/reset-password?token=${encodeURIComponent(token)}`,
        label: "Choose a new password",
      },
      "Or through the programming interface:",
      { code: `POST ${site.publicUrl}/api/auth/reset-password\n${body}` },
      "The link is valid for 1 hour and can be used once. If you did not ask for it, ignore this mail: your password stays as it is.",
    ],
    site.operator,
  );
}

/** Notifies the user that the password was changed. */
export function passwordChanged(site: Site, recipient: Recipient): Letter {
  return letter(
    `Your password for ${site.operator} was changed`,
    [
      greeting(recipient),
      `The password of your account at ${tenant(recipient)} was changed, and all its sessions were ended. Please sign in again.`,
      "If it was not you who changed it, ask for a new password at once and tell your administrator.",
    ],
    site.operator,
  );
}

/** Notifies the user that an administrator approved the account. */
export function accountApproved(site: Site, recipient: Recipient): Letter {
  return letter(
    `Your account for ${site.operator} is open`,
    [
      greeting(recipient),
      `Your account at ${tenant(recipient)} was approved. You can sign in now:`,
      { link: site.publicUrl, label: "Sign in" },
    ],
    site.operator,
  );
}

/**
 * Notifies an administrator that a webhook was disabled. Names it by id, because its URL may contain a token.
 */
export function webhookDisabled(
  site: Site,
  recipient: Recipient,
  webhookId: number,
  reason: "gone" | "failing",
): Letter {
  const why = {
    gone: "Its receiver answered that it is gone for good (410).",
    failing: "For five days every delivery to it failed.",
  };
  return letter(
    `Webhook ${webhookId} was switched off`,
    [
      greeting(recipient),
      `Webhook ${webhookId} of ${tenant(recipient)} was switched off. ${why[reason]}`,
      "When its receiver is well again, switch it on:",
      { code: `PUT ${site.publicUrl}/api/webhooks/${webhookId}\n{"is_active":true}` },
      "What it missed meanwhile can be sent again:",
      { code: `POST ${site.publicUrl}/api/webhooks/${webhookId}/recover\n{"since":"..."}` },
    ],
    site.operator,
  );
}

export type BackupTrouble = "backup_failed" | "backup_missing" | "test_failed";

/** Notifies an operator of a failed or missing backup. @param code the error code of the job */
export function backupTrouble(
  site: Site,
  recipient: Recipient,
  trouble: BackupTrouble,
  code: string,
): Letter {
  const what = {
    backup_failed: "A nightly backup failed",
    backup_missing: "There is no full backup of last night",
    test_failed: "A backup could not be proved by restoring it",
  };
  return letter(
    `${what[trouble]} at ${site.operator}`,
    [
      greeting(recipient),
      `${what[trouble]}${trouble === "backup_missing" ? "." : ` (${/^[a-z_]{1,40}$/.test(code) ? code : "unknown"}).`}`,
      "Please look at the backups, and make one by hand when the reason is gone:",
      {
        code: `GET ${site.publicUrl}/api/admin/backup/list\nPOST ${site.publicUrl}/api/admin/backup/create\n{"type":"full"}`,
      },
    ],
    site.operator,
  );
}

export type IncidentNeed = "no_remedy" | "unconfirmed" | "failed" | "suspended_failures" | "suspended_mass";

/**
 * Notifies an operator of an incident.
 * @param title the fault's title, from the built-in catalogue or as edited by a superadmin
 */
export function incident(
  site: Site,
  recipient: Recipient,
  { need, title, fixId, open }: { need: IncidentNeed; title: string; fixId: number; open: number },
): Letter {
  const why = {
    no_remedy: "The service cannot mend this by itself: please look at it.",
    unconfirmed: "The service knows a remedy, and applies it when you confirm it.",
    failed: "The remedy was tried five times and did not help: please look at it.",
    suspended_failures:
      "More than half of the last ten tries did not help, so nothing is mended any more until you confirm.",
    suspended_mass:
      "It is found in more than 40 % of all places at once, so nothing is mended until you have looked and confirmed.",
  };
  const api = `${site.publicUrl}/api/admin/self-healing`;
  const confirm = need === "no_remedy" ? "" : `\nPOST ${api}/confirm/${fixId}`;
  return letter(
    `${oneLine(title)} at ${site.operator}`,
    [
      greeting(recipient),
      `${oneLine(title)} (open incidents: ${open}). ${why[need]}`,
      "The evidence, and what would be done:",
      { code: `GET ${api}/incidents?fix_id=${fixId}${confirm}` },
    ],
    site.operator,
  );
}

const plainName = /^[\p{L}\p{M}'’-]{1,40}\.?(?: [\p{L}\p{M}'’-]{1,40}\.?){0,5}$/u;

function greeting({ fullName }: Recipient): string {
  return plainName.test(fullName) ? `Hello ${fullName},` : "Hello,";
}

const tenant = ({ tenantName }: Recipient) => oneLine(tenantName);
