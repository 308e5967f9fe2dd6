/** Settings of a process: addresses, bus, log. */
import { hostname } from "node:os";
import { logLevels } from "../../services/shared/log-levels.ts";
import { operatorNameForm } from "../../services/shared/operator.ts";
import { isProduction, optional, saysProduction, setting } from "./entry.ts";
import * as read from "./readers.ts";

const port = read.wholeNumber(0, 65_535);
const name = read.plainText(/^[\w.-]{1,100}$/, "1 to 100 letters, digits, dots, dashes or underscores");

export const runtimeSettings = {
  production: setting(
    "NODE_ENV",
    saysProduction,
    "development",
    "`production` refuses missing and published secrets, listens on all addresses and has no demo by default",
  ),
  logLevel: setting(
    "LOG_LEVEL",
    read.oneOf(...logLevels),
    "info",
    "trace, debug, info, warn, error, fatal or silent",
  ),
  port: setting("PORT", port, "3000", "Port of the REST interface; 0 takes any free one"),
  host: setting(
    "HOST",
    read.hostToBind,
    (textOf) => (isProduction(textOf) ? "0.0.0.0" : "127.0.0.1"),
    "Address the REST interface listens on",
    "127.0.0.1; in production 0.0.0.0",
  ),
  publicUrl: setting(
    "PUBLIC_URL",
    read.webAddress,
    (textOf) => `http://localhost:${textOf("PORT")}`,
    "Address under which clients reach the service; links in mails are built from it alone",
    "http://localhost:`PORT`",
  ),
  corsOrigins: setting(
    "CORS_ORIGINS",
    read.listOf(read.corsOrigin),
    "",
    "Origins whose pages may call the service, comma-separated, or `*`",
    "none",
  ),
  trustedProxies: setting(
    "TRUST_PROXY",
    read.listOf(read.subnet),
    "",
    "Addresses and subnets of proxies whose `X-Forwarded-For` is believed",
    "none",
  ),
  requestTimeoutMs: setting(
    "REQUEST_TIMEOUT_MS",
    read.wholeNumber(100, 120_000),
    "10000",
    "Longest a call between services may take",
  ),
  healthPort: optional("HEALTH_PORT", port, "Port of /livez and /readyz", "off"),
  metricsPort: optional("METRICS_PORT", port, "Port of /metrics", "off"),
  metricsHost: setting(
    "METRICS_HOST",
    read.hostToBind,
    "127.0.0.1",
    "Address that /metrics listens on, in production too",
  ),
  services: optional(
    "SERVICES",
    read.listOf(read.plainText(/^[a-z0-9-]{1,50}$/, "a list of service folders")),
    "Service folders this process runs, comma-separated",
    "all",
  ),
  dataDir: setting(
    "DATA_DIR",
    read.absolutePath,
    ".data",
    "Folder of everything embedded: database, mails, generated secrets",
  ),
  diskUsedMaxPercent: setting(
    "DISK_USED_MAX_PERCENT",
    read.wholeNumber(1, 100),
    "90",
    "How full the disk under `DATA_DIR` may be before superadmins are told",
  ),
  namespace: setting("NAMESPACE", name, "records", "Separates several installations on one bus"),
  actAs: optional(
    "ACT_AS",
    read.plainText(operatorNameForm, "1 to 64 letters, digits, dots, dashes, underscores or @"),
    "Name under which `npm run cli` and `npm run repl` act and are audited; `--as` goes before it",
    "name of the account",
  ),
  nodeId: setting(
    "NODE_ID",
    name,
    () =>
      `${hostname()
        .replace(/[^\w.-]/g, "-")
        .slice(0, 80)}-${process.pid}`,
    "Name of this process on the bus",
    "host name and process id",
  ),
};
