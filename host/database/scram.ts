// A password as PostgreSQL keeps it: sent in this form it stands in no log of statements, and the server need not hash it.
import { createHash, createHmac, pbkdf2, randomBytes } from "node:crypto";
import { promisify } from "node:util";

const iterations = 4_096;
const saltBytes = 16;

/** @param password printable ASCII, so that it needs no preparation (RFC 4013); @returns as RFC 5803 has it */
export async function scramVerifier(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const salted = await promisify(pbkdf2)(password, salt, iterations, 32, "sha256");
  const keyed = (words: string) => createHmac("sha256", salted).update(words).digest();
  const storedKey = createHash("sha256").update(keyed("Client Key")).digest("base64");
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${storedKey}:${keyed("Server Key").toString("base64")}`;
}
