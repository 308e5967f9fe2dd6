// How the settings of the bus become the options of NATS's client.
import { type ConnectionOptions, credsAuthenticator, nkeyAuthenticator, type TlsOptions } from "nats";
import { natsLogins } from "../settings/nats-rules.ts";
import type { Config } from "../settings/settings.ts";

export interface NatsLink {
  readonly options: ConnectionOptions;
  /** The setting that the login came from. */
  readonly loginFrom: string;
}

/** `host:port` of each server, without the login. */
const natsAddresses = (urls: readonly string[]): string[] =>
  urls.map((url) => {
    const { hostname, port } = new URL(url);
    return `${hostname}:${port || "4222"}`;
  });

/** @returns undefined where there is no bus */
export function natsLink(config: Config): NatsLink | undefined {
  const { natsUrls } = config;
  const [first] = natsUrls ?? [];
  if (natsUrls === undefined || first === undefined) return undefined;
  const options: ConnectionOptions = {
    servers: natsAddresses(natsUrls),
    ...loginOf(config, new URL(first)),
    // The client takes no scheme: without `tls` an address of tls:// would be spoken to in plain text.
    ...(first.startsWith("tls:") ? { tls: tlsOf(config) } : {}),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    waitOnFirstConnect: true,
    pingInterval: 5_000,
    maxPingOut: 2,
  };
  return { options, loginFrom: natsLogins(config)[0] ?? "NATS_URL" };
}

function loginOf(config: Config, { username, password }: URL): ConnectionOptions {
  const { natsToken, natsNkeySeed, natsCredentials } = config;
  if (natsToken !== undefined) return { token: natsToken };
  if (natsNkeySeed !== undefined) return { authenticator: nkeyAuthenticator(Buffer.from(natsNkeySeed)) };
  // Its last line must end, and settings are read without what stands around them.
  if (natsCredentials !== undefined)
    return { authenticator: credsAuthenticator(Buffer.from(`${natsCredentials}\n`)) };
  return username === "" ? {} : { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
}

function tlsOf({ natsAuthority, natsCertificate, natsKey, natsTlsFirst }: Config): TlsOptions {
  return {
    ...(natsAuthority === undefined ? {} : { ca: natsAuthority }),
    ...(natsCertificate === undefined ? {} : { cert: natsCertificate }),
    ...(natsKey === undefined ? {} : { key: natsKey }),
    ...(natsTlsFirst ? { handshakeFirst: true } : {}),
  };
}
