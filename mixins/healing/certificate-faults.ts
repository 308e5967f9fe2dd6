// Certificates that end soon: those that servers show which a service speaks with, and those in files that its settings name.
// Each service looks at those that its own settings name. A server that cannot be reached, or speaks no TLS, is another fault.
import { X509Certificate } from "node:crypto";
import { isLoopback } from "../../services/shared/loopback.ts";
import { certificatesIn } from "../../services/shared/pem.ts";
import type { Config } from "../../host/settings/settings.ts";
import { type Lifetime, peerLifetime, type TlsServer } from "./peer-certificate.ts";
import type { Detector, Found } from "./port.ts";

const dayMs = 86_400_000;
/** Whoever renews by itself has done so long before: ACME clients with a third of the lifetime left. */
const leftDaysMax = 14;
/** Of those that live for days only. */
const leftShare = 0.2;

export interface Certified {
  servers: readonly TlsServer[];
  /** PEM, by the setting that names the file. */
  files?: Readonly<Record<string, string | undefined>>;
}

export function endsSoon({ from, until }: Lifetime, now: number): boolean {
  const life = until.getTime() - from.getTime();
  return until.getTime() - now < Math.min(leftDaysMax * dayMs, life * leftShare);
}

/** @param wanted what of the settings leads to a certificate */
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
      const found: Found[] = [];
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

/** Of a file of authorities the last to end, as bundles hold many that have ended; of a chain the first. */
function lifetimeIn(pem: string, areAuthorities: boolean): Lifetime | undefined {
  const all = certificatesIn(pem).map((each) => {
    const { validFromDate: from, validToDate: until } = new X509Certificate(each);
    return { from, until };
  });
  const sorted = all.sort((a, b) => a.until.getTime() - b.until.getTime());
  return areAuthorities ? sorted.at(-1) : sorted[0];
}

/** An address of https, or none. */
export function webServer(address: string | undefined): TlsServer[] {
  const url = address === undefined ? null : URL.parse(address);
  return url?.protocol === "https:" ? [serverAt(url, 443, "at once")] : [];
}

export function mailServer(address: string | undefined): TlsServer[] {
  const url = address === undefined ? null : URL.parse(address);
  if (url === null) return [];
  if (url.protocol === "smtps:") return [serverAt(url, 465, "at once")];
  const isPlain = url.searchParams.get("tls") ?? (isLoopback(url.hostname) ? "off" : "required");
  return isPlain === "off" ? [] : [serverAt(url, 587, "smtp")];
}

export function busServer(address: string, tlsFirst: boolean): TlsServer[] {
  const url = URL.parse(address);
  return url?.protocol === "tls:" ? [serverAt(url, 4222, tlsFirst ? "at once" : "nats")] : [];
}

/** Where the address asks for TLS; one of a local socket has no host. */
export function databaseServer(address: string | undefined): TlsServer[] {
  const url = address === undefined ? null : URL.parse(address);
  const mode = url?.searchParams.get("sslmode") ?? url?.searchParams.get("ssl") ?? "disable";
  if (url === null || url.hostname === "" || ["disable", "false", "0", "no-verify"].includes(mode)) return [];
  return [serverAt(url, 5432, "postgres")];
}

function serverAt({ hostname, port }: URL, usual: number, begins: TlsServer["begins"]): TlsServer {
  return { host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? usual : Number(port), begins };
}
