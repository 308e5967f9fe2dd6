// The settings of the bus: which go together, and that no fault repeats a secret.
import { describe, expect, it } from "@jest/globals";
import { join } from "node:path";
import { ConfigError, readConfig } from "../../../../host/settings/config.ts";
import { natsLink } from "../../../../host/nats/nats-options.ts";
import { makeCredentials, makeNkey } from "../../../support/nats-identities.ts";

const certificate = join(import.meta.dirname, "../../services/mail/certificate/certificate.pem");
const pem = "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----";
const gateway = { SERVICES: "api-gateway", BUS_SECRET: "b7Xq2LmZ0vR8tK5wY1nC4dG6hJ9sP3fA" };

function faultsOf(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    readConfig({ ...gateway, ...env });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}
const optionsOf = (env: NodeJS.ProcessEnv) => natsLink(readConfig({ ...gateway, ...env }))?.options;

describe("the bus", () => {
  it("is in the process where no server is named", () => {
    expect(natsLink(readConfig({}))).toBeUndefined();
  });
  it("is a list of servers, with the login of the first", () => {
    const options = optionsOf({ NATS_URL: "nats://user:p%40ss@one, nats://two:4333,nats://[::1]:4444" });
    expect(options).toMatchObject({
      servers: ["one:4222", "two:4333", "[::1]:4444"],
      user: "user",
      pass: "p@ss",
    });
    expect(options).not.toHaveProperty("tls");
  });
  it("speaks TLS where the addresses say so", () => {
    expect(optionsOf({ NATS_URL: "tls://one" })).toHaveProperty("tls", {});
    const files = {
      NATS_CA_FILE: certificate,
      NATS_CERT_FILE: certificate,
      NATS_KEY: pem,
      NATS_TLS_FIRST: "true",
    };
    const certificates = expect.stringMatching(/^-----BEGIN CERTIFICATE/);
    expect(optionsOf({ NATS_URL: "tls://one", ...files })).toHaveProperty("tls", {
      ca: certificates,
      cert: certificates,
      key: pem,
      handshakeFirst: true,
    });
  });

  const { seed } = makeNkey();
  const { file } = makeCredentials();
  it.each([
    [{ NATS_URL: "," }, "NATS_URL names no server."],
    [{ NATS_URL: "nats://one,http://two" }, "NATS_URL must be a URL that begins with nats:// or tls://."],
    [{ NATS_URL: "nats://one,tls://two" }, "NATS_URL must be all nats:// or all tls://."],
    [
      { NATS_URL: "nats://one,nats://u:hunter2@two" },
      "NATS_URL must have the login in its first address only.",
    ],
    [
      { NATS_URL: "nats://u:hunter2@one", NATS_TOKEN: "hunter2" },
      "Only one login to NATS counts, not those of NATS_URL and NATS_TOKEN.",
    ],
    [
      { NATS_URL: "nats://one", NATS_CREDS: file, NATS_NKEY_SEED: seed },
      "Only one login to NATS counts, not those of NATS_NKEY_SEED and NATS_CREDS.",
    ],
    [
      { NATS_URL: "nats://one", NATS_NKEY_SEED: "hunter2" },
      "NATS_NKEY_SEED must be the seed of a user's nkey, which begins with SU.",
    ],
    [{ NATS_URL: "nats://one", NATS_CREDS: "hunter2" }, "NATS_CREDS must be the text of a credentials file."],
    [
      { NATS_URL: "tls://one", NATS_CERT_FILE: certificate },
      "NATS_CERT_FILE and NATS_KEY (or NATS_KEY_FILE) must be given together.",
    ],
    [
      { NATS_URL: "nats://one", NATS_CA_FILE: certificate },
      "NATS_URL must be tls:// where NATS_CA_FILE is given.",
    ],
    [{ NATS_TOKEN: "hunter2" }, "NATS_URL must be given with NATS_TOKEN."],
  ])("refuses %o", (settings, sentence) => {
    const faults = faultsOf(settings);
    expect(faults).toEqual([sentence]);
    expect(faults.join()).not.toMatch(/hunter2/);
  });
});
