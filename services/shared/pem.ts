// Finds the certificates in a PEM text.
const begins = "-----BEGIN CERTIFICATE-----";
const ends = "-----END CERTIFICATE-----";

/** @returns each certificate of a text in PEM, with its own first and last line */
export function certificatesIn(text: string): string[] {
  return text
    .split(begins)
    .slice(1)
    .flatMap((part) => {
      const at = part.indexOf(ends);
      return at < 0 ? [] : [`${begins}${part.slice(0, at)}${ends}`];
    });
}
