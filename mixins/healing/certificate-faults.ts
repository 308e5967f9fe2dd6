// Certificates that expire soon: those of servers that a service connects to, and those in files that its settings name. Each
// service checks what its own settings name. A server that cannot be reached, or does not use TLS, is a different fault.
import { X509Certificate } from "node:crypto";
import { isLoopback } from "../../services/shared/loopback.ts";
import { certificatesIn } from "../../services/shared/pem.ts";
import type { Config } from "../../host/settings/settings.ts";
import { type Lifetime, peerLifetime, type TlsServer } from "./peer-certificate.ts";
import type { Detector, FoundFault } from "./port.ts";

const dayMs = 86_400_000;
/** Automatic renewal happens long before: ACME clients renew with a third of the lifetime left. */
const leftDaysMax = 14;
/** The share of the lifetime that is left, for certificates that live only for days. */
const leftShare = 0.2;

export interface Certified {
  servers: readonly TlsServer[];
  /** PEM text by the name of the setting that names the file. */
  files?: Readonly<Record<string, string | undefined>>;
}

/** Whether less than 14 days are left, or less than a fifth of a shorter lifetime. @param now milliseconds since 1970 */
export function endsSoon({ from, until }: Lifetime, now: number): boolean {
  const life = until.getTime() - from.getTime();
  return until.getTime() - now < Math.min(leftDaysMax * dayMs, life * leftShare);
}

/** @param wanted selects the servers and files with certificates from the settings */
export function certificateEnds(
  wanted: (config: Config, databaseUrl: string | undefined) => Certified,
): Detector {
  return {
    async find({ runtime }, { target }) {
      const { servers, files = {} } = wanted(runtime.config, runtime.databaseUrl);
      const asked = servers.map(async (server): Promise<[string, Lifetime | undefined]> => {
        const name = `certificate:${server.host}:${server.port}`;
        const isAsked = target === undefined || target === name;
        return [name, isAsked ? await peerLifetime(server) : undefined];
      });
      const inFiles = Object.entries(files).map(([setting, pem]): [string, Lifetime | undefined] => [
        `certificate:${setting}`,
        pem === undefined ? undefined : lifetimeIn(pem, setting.endsWith("_CA_FILE")),
      ]);
      const found: FoundFault[] = [];
      for (const [name, lifetime] of [...(await Promise.all(asked)), ...inFiles]) {
        if (lifetime === undefined || (target !== undefined && target !== name)) continue;
        if (!endsSoon(lifetime, Date.now())) continue;
        const days = Math.floor((lifetime.until.getTime() - Date.now()) / dayMs);
        const evidence = { ends_at: lifetime.until.toISOString(), days_left: days };
        found.push({ target: name, tenantId: null, evidence });
      }
      return { found };
    },
  };
}

/** For a file of authorities the last expiry counts, because bundles hold many that have expired; for a chain the first. */
function lifetimeIn(pem: string, areAuthorities: boolean): Lifetime | undefined {
  const all = certificatesIn(pem).map((each) => {
    const { validFromDate: from, validToDate: until } = new X509Certificate(each);
    return { from, until };
  });
  const sorted = all.sort((a, b) => a.until.getTime() - b.until.getTime());
  return areAuthorities ? sorted.at(-1) : sorted[0];
}

/** @returns the server of an https address; empty for other addresses */
export function webServer(address: string | undefined): TlsServer[] {
  const url = address === undefined ? null : URL.parse(address);
  return url?.protocol === "https:" ? [serverAt(url, 443, "at once")] : [];
}

/**
 * @returns the server if it is used with TLS: at once for smtps, otherwise by STARTTLS. The parameter `tls` of the address
 * decides; its default is TLS, except on loopback.
 */
export function mailServer(address: string | undefined): TlsServer[] {
  const url = address === undefined ? null : URL.parse(address);
  if (url === null) return [];
  if (url.protocol === "smtps:") return [serverAt(url, 465, "at once")];
  const isPlain = url.searchParams.get("tls") ?? (isLoopback(url.hostname) ? "off" : "required");
  return isPlain === "off" ? [] : [serverAt(url, 587, "smtp")];
}

/** @param tlsFirst whether TLS starts before the server's INFO (handshake first) */
export function busServer(address: string, tlsFirst: boolean): TlsServer[] {
  const url = URL.parse(address);
  return url?.protocol === "tls:" ? [serverAt(url, 4222, tlsFirst ? "at once" : "nats")] : [];
}

/** @returns the server if the address requires TLS. An address of a local socket has no host. */
export function databaseServer(address: string | undefined): TlsServer[] {
  const url = address === undefined ? null : URL.parse(address);
  const mode = url?.searchParams.get("sslmode") ?? url?.searchParams.get("ssl") ?? "disable";
  if (url === null || url.hostname === "" || ["disable", "false", "0", "no-verify"].includes(mode)) return [];
  return [serverAt(url, 5432, "postgres")];
}

function serverAt({ hostname, port }: URL, usual: number, begins: TlsServer["begins"]): TlsServer {
  return { host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? usual : Number(port), begins };
}
