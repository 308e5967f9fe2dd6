// Removes a repeated character at the end of a text. The pattern `/x+$/` starts at every run of the character and takes quadratic
// time: 256 kB of zeros followed by a one took most of a minute.

/** @param sign one UTF-16 code unit */
export function withoutTrailing(text: string, sign: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === sign) end--;
  return text.slice(0, end);
}
