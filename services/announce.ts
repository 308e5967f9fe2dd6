// What the terminal says when the service is ready.
import type { Service, ServiceBroker } from "moleculer";
import type { SignIn } from "./seed.ts";
import type { Runtime } from "./shared/runtime.ts";

export function announce(broker: ServiceBroker, { config }: Runtime, signIns: readonly SignIn[]): void {
  const gateway = broker.services.find((service) => service.name === "api-gateway") as
    | (Service & { httpPort: number })
    | undefined;
  const lines = gateway === undefined ? [] : addresses(config.host, gateway.httpPort);
  lines.push(...signIns.map(signInLine));
  if (config.demoMode && signIns.length > 0)
    lines.push("Demo data and demo passwords: not for real patients.");
  const names = broker.services.map((service) => service.name).join(", ");
  process.stdout.write(
    `\nRecords service is ready (${names}).\n${lines.map((line) => `  ${line}\n`).join("")}\n`,
  );
}

function addresses(host: string, port: number): string[] {
  const shown = host === "0.0.0.0" || host === "::" || host === "127.0.0.1" ? "localhost" : host;
  const url = `http://${shown.includes(":") ? `[${shown}]` : shown}:${port}`;
  return [`API   ${url}/api`, `Docs  ${url}/docs`];
}

function signInLine({ subdomain, email, role, password }: SignIn): string {
  return `Sign in as ${role}: subdomain ${subdomain}, e-mail ${email}, ${
    password === undefined ? "with the password you set" : `password ${password}`
  }`;
}
