/** Settings of accounts: secrets, demo, first administrator, sign-in, mail. */
import { availableParallelism } from "node:os";
import { publishedDemoPassword } from "../../services/shared/demo-sign-in.ts";
import { isDemo, isProduction, secret, setting } from "./entry.ts";
import * as read from "./readers.ts";

const perMinute = read.wholeNumber(1, 100_000);

export const accountSettings = {
  demoMode: setting(
    "DEMO_MODE",
    read.flag,
    (textOf) => String(!isProduction(textOf) && !["DATABASE_URL", "DATABASE_APP_URL"].some(textOf)),
    "Seeds a demo tenant and prints its sign-ins",
    "true without `DATABASE_URL`, without `DATABASE_APP_URL` and outside production, else false",
  ),
  demoPassword: {
    ...setting(
      "DEMO_PASSWORD",
      read.password,
      publishedDemoPassword,
      "Password of all demo sign-ins; where `HOST` is not loopback the published one is not used",
      `${publishedDemoPassword}; where \`HOST\` is not loopback generated under \`DATA_DIR\` and printed`,
    ),
    secret: true,
  },
  tenantMode: setting(
    "TENANT_MODE",
    read.oneOf("multi", "single"),
    "multi",
    "`single`: one tenant beside the platform",
  ),
  adminEmail: setting(
    "ADMIN_EMAIL",
    read.emailAddress,
    "admin@platform.example",
    "E-mail of the platform's first superadmin, used when it is created",
  ),
  adminPassword: secret(
    "ADMIN_PASSWORD",
    read.password,
    "Password of the platform's first superadmin, used when it is created; required in production where `users` runs",
    "`DEMO_PASSWORD` in demo mode, else generated and printed once",
  ),
  jwtSecret: secret(
    "JWT_SECRET",
    read.keyMaterial,
    "Signs access tokens, where `auth` runs; at least 32 characters; required there with `NATS_URL` or in production",
    "generated under `DATA_DIR`",
  ),
  jwtPreviousSecrets: {
    ...setting(
      "JWT_PREVIOUS_SECRETS",
      read.listOf(read.keyMaterial),
      "",
      "Earlier values of `JWT_SECRET`, comma-separated: their tokens stay valid until they expire",
      "none",
    ),
    secret: true,
  },
  bootSecret: secret(
    "BOOT_SECRET",
    read.keyMaterial,
    "Wraps the keys at rest, where `crypto` runs and where a database is prepared; at least 32 characters; required there like `JWT_SECRET`",
    "generated under `DATA_DIR`",
  ),
  busSecret: secret(
    "BUS_SECRET",
    read.keyMaterial,
    "Seals what goes between processes; at least 32 characters; the same on all, which need it (or `BOOT_SECRET`) with `NATS_URL`",
    "derived from `BOOT_SECRET`",
  ),
  accessTokenTtlSeconds: setting(
    "ACCESS_TOKEN_TTL_SECONDS",
    read.wholeNumber(60, 2_592_000),
    "43200",
    "Life of an access token",
  ),
  loginPerMinute: setting(
    "RATE_LOGIN_PER_MINUTE",
    perMinute,
    "30",
    "Sign-in attempts per address; 20 times as many failures a day with accounts that never signed in from it",
  ),
  registerPerMinute: setting(
    "RATE_REGISTER_PER_MINUTE",
    perMinute,
    "10",
    "Registrations per address; a day 20 times as many, and 100 times as many in a tenant",
  ),
  mailPerMinute: setting(
    "RATE_MAIL_PER_MINUTE",
    perMinute,
    "10",
    "Requests for a mail (reset, verification) per address; a day 20 times as many",
  ),
  defaultRegistration: setting(
    "DEFAULT_REGISTRATION",
    read.oneOf("open", "approval", "closed"),
    (textOf) => (isDemo(textOf) ? "open" : "approval"),
    "Who may register where a tenant has not chosen: `open`, `approval`, `closed`",
    "open in demo mode, else approval",
  ),
  smtpUrl: secret(
    "SMTP_URL",
    read.smtpUrl,
    "Mail server, smtp:// (STARTTLS demanded unless local, or `?tls=off`) or smtps://",
    "mails become files in `DATA_DIR`/mail",
  ),
  mailFrom: setting(
    "MAIL_FROM",
    read.mailSender,
    (textOf) => `no-reply@${URL.parse(textOf("PUBLIC_URL") ?? "")?.hostname || "localhost"}`,
    "Sender of all mails",
    "no-reply@ and the host of `PUBLIC_URL`",
  ),
  operator: setting(
    "OPERATOR",
    read.plainText(/^[^\p{Cc}]{1,100}$/u, "1 to 100 printable characters"),
    "Records service",
    "Name shown in mails and in the documentation page",
  ),
  argon2Workers: setting(
    "ARGON2_WORKERS",
    read.wholeNumber(1, 64),
    () => String(Math.max(1, Math.min(2, availableParallelism() - 1))),
    "Threads that hash passwords",
    "1, or 2 from 3 cores on",
  ),
  argon2QueueMax: setting(
    "ARGON2_QUEUE_MAX",
    read.wholeNumber(0, 10_000),
    "64",
    "Password checks that may wait for a thread; more are refused at once",
  ),
  retentionDays: setting(
    "RETENTION_DAYS",
    read.wholeNumber(1, 3_650),
    "30",
    "Days until deleted tenants, users and patients are purged",
  ),
};
