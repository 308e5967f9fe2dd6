/** Reader of settings that name a file of certificates. */
import { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { certificatesIn } from "../../services/shared/pem.ts";
import { type Reader, Refused } from "./readers.ts";

const certificateBytesMax = 1_048_576;

/** Reads the file at the path as PEM. Each certificate is parsed, so that a wrong file is reported at the start. */
export const certificates: Reader<string> = (path) => {
  let text: string;
  try {
    const { size } = statSync(path);
    text = size > certificateBytesMax ? "" : readFileSync(path, "utf8");
  } catch {
    throw new Refused("must name a file that can be read");
  }
  const blocks = certificatesIn(text);
  try {
    blocks.map((block) => new X509Certificate(block));
  } catch {
    throw new Refused("names a file with a certificate that is broken");
  }
  if (blocks.length === 0) throw new Refused("must name a file of certificates as PEM");
  return blocks.join("\n");
};
