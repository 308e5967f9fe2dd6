// Prints that the service is ready: lines for people, or in production, where programs read it, one log entry.
import type { Service, ServiceBroker } from "moleculer";
import type { SignIn } from "./seed.ts";
import type { Runtime } from "./process/runtime.ts";

/** @param signIns printed with their passwords, except in production */
export function announce(broker: ServiceBroker, runtime: Runtime, signIns: readonly SignIn[]): void {
  const { config, log } = runtime;
  const gateway = broker.services.find((service) => service.name === "api-gateway") as
    | (Service & { httpPort: number })
    | undefined;
  const services = broker.services.map((service) => service.name);
  if (config.production) {
    const served = gateway && {
      publicUrl: config.publicUrl,
      listening: urlOf(config.host, gateway.httpPort),
    };
    const demo = config.demoMode && signIns.length > 0;
    log.info({ services, ...served, ...(demo ? { demo } : {}) }, "Records service is ready");
    return;
  }
  const lines = gateway === undefined ? [] : addresses(config.host, gateway.httpPort);
  lines.push(...signIns.map(signInLine));
  if (config.demoMode && signIns.length > 0)
    lines.push("Demo data and demo passwords: not for real patients.");
  lines.push(...terminalLines(runtime));
  process.stdout.write(
    `\nRecords service is ready (${services.join(", ")}).\n${lines.map((line) => `  ${line}\n`).join("")}\n`,
  );
}

function urlOf(host: string, port: number): string {
  const shown = host === "0.0.0.0" || host === "::" || host === "127.0.0.1" ? "localhost" : host;
  return `http://${shown.includes(":") ? `[${shown}]` : shown}:${port}`;
}

function addresses(host: string, port: number): string[] {
  const url = urlOf(host, port);
  return [`API   ${url}/api`, `Docs  ${url}/docs`];
}

/** Extra lines for a person at a terminal. */
function terminalLines({ config, keepsData }: Runtime): string[] {
  if (!process.stdout.isTTY) return [];
  return [...(keepsData ? [`Everything is kept in ${config.dataDir}.`] : []), "Ctrl-C stops it in order."];
}

function signInLine({ subdomain, email, role, password }: SignIn): string {
  return `Sign in as ${role}: subdomain ${subdomain}, e-mail ${email}, ${
    password === undefined ? "with the password you set" : `password ${password}`
  }`;
}
