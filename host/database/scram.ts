// Makes the SCRAM verifier of a password, the form in which PostgreSQL stores it: the password appears in no statement log, and
// the server does not need to hash it.
import { createHash, createHmac, pbkdf2, randomBytes } from "node:crypto";
import { promisify } from "node:util";

const iterations = 4_096;
const saltBytes = 16;

/** @param password printable ASCII, which needs no preparation (RFC 4013) @returns the verifier in the format of RFC 5803 */
export async function scramVerifier(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const salted = await promisify(pbkdf2)(password, salt, iterations, 32, "sha256");
  const keyed = (words: string) => createHmac("sha256", salted).update(words).digest();
  const storedKey = createHash("sha256").update(keyed("Client Key")).digest("base64");
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${storedKey}:${keyed("Server Key").toString("base64")}`;
}
