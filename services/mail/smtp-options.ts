/**
 * Converts `SMTP_URL` to nodemailer's options. Encryption is required unless the server is on this machine.
 */
import type { SMTPPoolOptions } from "nodemailer";
import { isLoopback } from "../shared/loopback.ts";

export interface MailTimeouts {
  readonly connectMs: number;
  readonly greetingMs: number;
  /** Longest silence of the server. */
  readonly socketMs: number;
  /**
   * From the queue to the server's answer. A server that sends single bytes is never silent, so this needs
   * its own bound.
   */
  readonly totalMs: number;
}

export const defaultTimeouts: MailTimeouts = {
  connectMs: 5_000,
  greetingMs: 5_000,
  socketMs: 15_000,
  totalMs: 30_000,
};

/**
 * The name for the EHLO command. In a pod the host name has no dot, and nodemailer would send [127.0.0.1],
 * which large relays refuse.
 * @returns undefined when the public URL has no suitable name either
 */
export function greetingName(publicUrl: string): string | undefined {
  const { hostname } = new URL(publicUrl);
  const isName = hostname.includes(".") && !/[\d\]]$/.test(hostname) && !isLoopback(hostname);
  return isName ? hostname.replace(/\.$/, "") : undefined;
}

/**
 * `smtps://` is TLS from the first byte. `smtp://` demands STARTTLS, except to a loopback address; `?tls=off`
 * and `?tls=required` say otherwise. Ports 465 and 587 unless given. User and password are percent-decoded.
 */
export function smtpOptions(
  smtpUrl: string,
  timeouts = defaultTimeouts,
  name?: string,
): SMTPPoolOptions & { pool: true } {
  const url = new URL(smtpUrl);
  const host = url.hostname.toLowerCase().replace(/^\[|\]$/g, "");
  const secure = url.protocol === "smtps:";
  const tlsMode = url.searchParams.get("tls") ?? (isLoopback(host) ? "off" : "required");
  return {
    pool: true,
    host,
    ...(name === undefined ? {} : { name }),
    port: url.port === "" ? (secure ? 465 : 587) : Number(url.port),
    secure,
    requireTLS: !secure && tlsMode !== "off",
    ignoreTLS: !secure && tlsMode === "off",
    tls: { minVersion: "TLSv1.2", rejectUnauthorized: true },
    auth: url.username
      ? { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) }
      : undefined,
    dnsTimeout: timeouts.connectMs,
    connectionTimeout: timeouts.connectMs,
    greetingTimeout: timeouts.greetingMs,
    socketTimeout: timeouts.socketMs,
    maxConnections: 2,
    maxMessages: 100,
    maxRequeues: 1,
    idleTimeout: 30_000,
    maxResponseSize: 65_536,
  };
}
