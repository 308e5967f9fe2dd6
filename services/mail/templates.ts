/**
 * The mails of the service. Links are built from the site's public address alone, never from a request's Host.
 * A name typed by a stranger must not carry an advertisement to someone else's mailbox, so only plain names
 * are greeted.
 */
import { letter, oneLine } from "./letter.ts";
import type { Letter } from "./letter.ts";

export interface Site {
  /** Without a slash at its end. */
  readonly publicUrl: string;
  readonly operator: string;
}

export interface Recipient {
  readonly fullName: string;
  readonly tenantName: string;
}

/** What was registered, and from where. */
export interface Registered {
  readonly role: string;
  readonly department: string | null;
  /** ISO 8601 in UTC. */
  readonly registeredAt: string;
  readonly ip: string | null;
}

/**
 * Valid for 24 hours, as the token is. It may reach somebody who has registered nothing: so it says what was registered, and
 * neither its page nor the call it shows lets the registration's password count for who does not know it.
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

/** Valid for 1 hour, as the token is. */
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

/** Names the webhook by its number: addresses carry tokens. */
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

/** @param code why, as the job has it */
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

/** @param title of the fault, by the built-in catalogue or whoever edited it */
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
