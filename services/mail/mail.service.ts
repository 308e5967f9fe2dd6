// Sends mails as durable jobs. A change enqueues the job in its own transaction; this service executes it as
// soon as it can and retries while the mail server is unavailable. Job payloads hold ids of accounts, not
// tokens: tokens are created when the mail is composed.
import type { Service, ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { detectors } from "../../mixins/healing/detectors.ts";
import { jobs } from "../../mixins/jobs/jobs.ts";
import { type Actions, callAs, implement } from "../shared/bus/bus.ts";
import { certificateEnds, mailServer } from "../../mixins/healing/certificate-faults.ts";
import { jobFaults } from "../../mixins/healing/job-faults.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import type { Letter } from "./letter.ts";
import { mailContract } from "./mail.contract.ts";
import { createMailer, MailRefused } from "./mailer.ts";
import { greetingName } from "./smtp-options.ts";
import * as templates from "./templates.ts";

interface MailService extends Service {
  runtime: Runtime;
}

const mailerOf = perRuntime(({ config, mailDirectory }) =>
  createMailer({
    smtpUrl: config.smtpUrl,
    from: config.mailFrom,
    directory: mailDirectory,
    greetAs: greetingName(config.publicUrl),
  }),
);

interface Addressee {
  to: string;
  full_name: string;
  tenant_name: string;
}

const notices = {
  password_changed: templates.passwordChanged,
  account_approved: templates.accountApproved,
};

type Minted = NonNullable<Actions["accounts.mint_mail_token"]["result"]>;

/**
 * The payload of a requested mail. With `turn` "none" nothing is sent: the job only exists so that all
 * requests take the same time.
 */
interface MailRequest {
  subdomain: string;
  email: string;
  turn?: "known" | "stranger" | "none";
  request?: string;
}

function tokenMail(
  kind: "verify_email" | "reset_password",
  write: (site: templates.Site, minted: Minted) => Letter,
) {
  return async function (this: MailService, payload: unknown): Promise<void> {
    const { subdomain, email, turn = "stranger", request = "" } = payload as MailRequest;
    if (turn === "none") return;
    const mailRequest = { kind, subdomain, email, turn, request };
    const minted = await callAs(this.broker, "mail", "accounts.mint_mail_token", mailRequest);
    if (minted === null) return;
    await post(this, minted, write(siteOf(this), minted));
  };
}

const writeReset = (site: templates.Site, { token, ...to }: Minted) =>
  templates.resetPassword(site, recipientOf(to), token);

function writeVerification(site: templates.Site, { registration, token, ...to }: Minted): Letter {
  if (registration === null) return templates.verifyEmail(site, recipientOf(to), token);
  const { registered_at: registeredAt, ...rest } = registration;
  return templates.verifyEmail(site, recipientOf(to), token, { ...rest, registeredAt });
}

function notice(kind: keyof typeof notices) {
  return async function (this: MailService, payload: unknown): Promise<void> {
    const { user_id } = payload as { user_id: number };
    const addressee = await callAs(this.broker, "mail", "accounts.recipient", { user_id });
    if (addressee === null) return;
    await post(this, addressee, notices[kind](siteOf(this), recipientOf(addressee)));
  };
}

async function webhookDisabled(this: MailService, payload: unknown): Promise<void> {
  const {
    user_id,
    webhook_id: webhookId,
    reason,
  } = payload as {
    user_id: number;
    webhook_id: number;
    reason: "gone" | "failing";
  };
  const addressee = await callAs(this.broker, "mail", "accounts.recipient", { user_id });
  if (addressee === null) return;
  const letter = templates.webhookDisabled(siteOf(this), recipientOf(addressee), webhookId, reason);
  await post(this, addressee, letter);
}

async function backupTrouble(this: MailService, payload: unknown): Promise<void> {
  const { user_id, trouble, code } = payload as {
    user_id: number;
    trouble: templates.BackupTrouble;
    code: string;
  };
  const addressee = await callAs(this.broker, "mail", "accounts.recipient", { user_id });
  if (addressee === null) return;
  await post(this, addressee, templates.backupTrouble(siteOf(this), recipientOf(addressee), trouble, code));
}

async function incident(this: MailService, payload: unknown): Promise<void> {
  const {
    user_id,
    fix_id: fixId,
    ...facts
  } = payload as {
    user_id: number;
    fix_id: number;
    need: templates.IncidentNeed;
    title: string;
    open: number;
  };
  const addressee = await callAs(this.broker, "mail", "accounts.recipient", { user_id });
  if (addressee === null) return;
  await post(this, addressee, templates.incident(siteOf(this), recipientOf(addressee), { fixId, ...facts }));
}

async function post(service: MailService, { to }: Addressee, letter: Letter): Promise<void> {
  try {
    await mailerOf(service.runtime).send({ to, ...letter });
  } catch (error) {
    if (!(error instanceof MailRefused)) throw error;
    // A retry would be refused again. The address must not be in the log.
    service.runtime.log.warn({ subject: letter.subject }, "the mail server refused a mail for good");
  }
}

const recipientOf = ({ full_name: fullName, tenant_name: tenantName }: Addressee) => ({
  fullName,
  tenantName,
});

function siteOf({ runtime: { config } }: MailService): templates.Site {
  return { publicUrl: config.publicUrl, operator: config.operator };
}

const mail: ServiceSchema<object, object, object, MailService> = {
  name: "mail",
  mixins: [
    database(),
    jobs<MailService>({
      tasks: {
        "mail.verify_email": tokenMail("verify_email", writeVerification),
        "mail.reset_password": tokenMail("reset_password", writeReset),
        "mail.password_changed": notice("password_changed"),
        "mail.account_approved": notice("account_approved"),
        "mail.webhook_disabled": webhookDisabled,
        "mail.backup_trouble": backupTrouble,
        "mail.incident": incident,
      },
      concurrentMax: 4,
    }),
    detectors("mail", {
      ...jobFaults("mail"),
      certificate_ends: certificateEnds(({ smtpUrl }) => ({ servers: mailServer(smtpUrl) })),
    }),
  ],
  actions: implement(mailContract, {
    "mail.check": async (call) => ({ ok: await mailerOf(call.runtime).verify() }),
    "mail.delivers": async (call) => ({ ok: await mailerOf(call.runtime).delivers(call.params.email) }),
  }),
  async stopped(this: MailService) {
    await mailerOf(this.runtime).close();
  },
};

export default mail;
