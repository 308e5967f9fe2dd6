// What NATS knows its users by, made for a test: nkeys, and the JWTs of an operator, an account and a user.
// Formats: https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro
import { createHash } from "node:crypto";
import { nkeys } from "nats";

type KeyPair = ReturnType<typeof nkeys.createUser>;

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

export interface Nkey {
  publicKey: string;
  seed: string;
}

const asText = (pair: KeyPair): Nkey => ({ publicKey: pair.getPublicKey(), seed: text(pair.getSeed()) });

export const makeNkey = (): Nkey => asText(nkeys.createUser());

/** @param facts what NATS reads under `nats`, its `type` among them */
function sign(issuer: KeyPair, subject: KeyPair, name: string, facts: object): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { iat: 1, iss: issuer.getPublicKey(), name, sub: subject.getPublicKey(), nats: facts };
  const jti = createHash("sha256").update(JSON.stringify(claims)).digest("hex");
  const signed = `${encode({ typ: "JWT", alg: "ed25519-nkey" })}.${encode({ ...claims, jti })}`;
  return `${signed}.${Buffer.from(issuer.sign(Buffer.from(signed))).toString("base64url")}`;
}

export interface Credentials {
  /** Of a server that trusts the operator. */
  configuration: string;
  /** The file that a user is given. */
  file: string;
}

export function makeCredentials(): Credentials {
  const [operator, account, user] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createUser()];
  const unlimited = {
    subs: -1,
    conn: -1,
    leaf: -1,
    imports: -1,
    exports: -1,
    data: -1,
    payload: -1,
    wildcards: true,
  };
  const operatorJwt = sign(operator, operator, "tests", { type: "operator", version: 2 });
  const accountJwt = sign(operator, account, "records", { type: "account", version: 2, limits: unlimited });
  const userJwt = sign(account, user, "services", {
    type: "user",
    version: 2,
    subs: -1,
    data: -1,
    payload: -1,
  });
  return {
    configuration: `operator: ${operatorJwt}
      resolver: MEMORY
      resolver_preload: { ${account.getPublicKey()}: ${accountJwt} }`,
    file: `-----BEGIN NATS USER JWT-----\n${userJwt}\n------END NATS USER JWT------\n
-----BEGIN USER NKEY SEED-----\n${asText(user).seed}\n------END USER NKEY SEED------\n`,
  };
}
