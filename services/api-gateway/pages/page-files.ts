// The files that are served beside the API: our own pages and, for the documentation, some of Swagger UI's. All are
// read at start and kept, 2 MB together.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Coding } from "../compression.ts";

export interface Page {
  bytes: Buffer;
  type: string;
  /** Of what is in it, without quotes. */
  tag: string;
  headers: Readonly<Record<string, string>>;
  compressed: Map<Coding, Promise<Buffer>>;
}

/** `check` asks whether it changed on every use, `day` keeps it that long, `never` leaves no copy anywhere. */
const keeping = { check: "no-cache", day: "public, max-age=86400", never: "no-store" };

// Pages may load what this server serves and nothing else; scripts never stand in a page.
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const html = "text/html; charset=utf-8";
const css = "text/css; charset=utf-8";
const script = "text/javascript; charset=utf-8";

type Row = readonly [path: string, file: string, type: string, kept?: keyof typeof keeping];

const ours: readonly Row[] = [
  ["/", "landing.html", html],
  ["/docs", "docs.html", html],
  ["/verify-email", "verify-email.html", html, "never"],
  ["/reset-password", "reset-password.html", html, "never"],
  ["/pages/docs.css", "docs.css", css],
  ["/pages/docs.js", "docs.js", script],
  ["/pages/icon.svg", "icon.svg", "image/svg+xml"],
  ["/pages/mail-link.js", "mail-link.js", script],
  ["/pages/page.css", "page.css", css],
  ["/pages/reset-password.js", "reset-password.js", script],
  ["/pages/verify-email.js", "verify-email.js", script],
];

const swaggerUi: readonly Row[] = [
  ["/docs/swagger-ui.css", "swagger-ui.css", css, "day"],
  ["/docs/swagger-ui-bundle.js", "swagger-ui-bundle.js", script, "day"],
];

/** @returns every page by its exact path */
export function readPages(): Map<string, Page> {
  const swaggerUiFolder = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
  return new Map([...readAll(import.meta.dirname, ours), ...readAll(swaggerUiFolder, swaggerUi)]);
}

function readAll(folder: string, rows: readonly Row[]): [string, Page][] {
  return rows.map(([path, file, type, kept]) => [path, pageOf(readFileSync(join(folder, file)), type, kept)]);
}

export function pageOf(bytes: Buffer, type: string, kept: keyof typeof keeping = "check"): Page {
  const headers = {
    "Cache-Control": keeping[kept],
    "Content-Security-Policy": policy,
    // Addresses of the pages for mails hold a token.
    "Referrer-Policy": "no-referrer",
  };
  const tag = createHash("sha256").update(bytes).digest("base64url");
  return { bytes, type, tag, headers, compressed: new Map() };
}
