// The end of a text without a sign that repeats there. The pattern `/x+$/` looks at every place where the sign begins
// anew, in quadratic time: 256 kB of zeros with a one behind them took most of a minute.

/** @param sign one UTF-16 unit */
export function withoutTrailing(text: string, sign: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === sign) end--;
  return text.slice(0, end);
}
