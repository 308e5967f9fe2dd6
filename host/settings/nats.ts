/** Settings of the bus: the NATS servers, the login, the certificates. */
import { certificates } from "./certificates.ts";
import { optional, secret, setting } from "./entry.ts";
import * as read from "./readers.ts";

const visible = read.plainText(/^[!-~]{1,200}$/, "1 to 200 visible characters");

const credentials: read.Reader<string> = (text) => {
  const isWhole =
    text.startsWith("-----BEGIN NATS USER JWT-----") && text.includes("END USER NKEY SEED-----");
  if (!isWhole) throw new read.Refused("must be the text of a credentials file");
  return text;
};

export const natsSettings = {
  natsUrls: secret(
    "NATS_URL",
    read.natsUrls,
    "Bus between processes: nats:// or tls:// addresses of the servers of one cluster, comma-separated, the login in the first",
    "in-process",
  ),
  natsToken: secret("NATS_TOKEN", visible, "Token that NATS asks for instead of a user and password", "none"),
  natsNkeySeed: secret(
    "NATS_NKEY_SEED",
    read.plainText(/^SU[A-Z2-7]{56}$/, "the seed of a user's nkey, which begins with SU"),
    "Seed of the nkey that this process signs in to NATS with",
    "none",
  ),
  natsCredentials: secret(
    "NATS_CREDS",
    credentials,
    "Credentials (a JWT and its seed) that this process signs in to NATS with; usually by `NATS_CREDS_FILE`",
    "none",
  ),
  natsAuthority: optional(
    "NATS_CA_FILE",
    certificates,
    "File of the authorities (PEM) that the certificates of NATS must come from",
    "the usual ones",
  ),
  natsCertificate: optional(
    "NATS_CERT_FILE",
    certificates,
    "File of the certificate (PEM) that this process shows to NATS",
    "none",
  ),
  natsKey: secret(
    "NATS_KEY",
    read.plainText(/^-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----/, "a private key as PEM"),
    "Private key of that certificate; usually by `NATS_KEY_FILE`",
    "none",
  ),
  natsTlsFirst: setting(
    "NATS_TLS_FIRST",
    read.flag,
    "false",
    "Whether TLS begins before NATS says a word, as its servers can be told to (`handshake_first`)",
  ),
};
