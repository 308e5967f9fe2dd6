// How a fault's target is written, and read again: "job:12". What is of another form names nothing.

/** @returns the number behind `kind:`, or undefined when the target is none of that kind */
export function numberIn(kind: string, target: string): number | undefined {
  const text = textIn(kind, target);
  if (text === undefined || !/^\d{1,15}$/.test(text)) return undefined;
  return Number(text);
}

export function textIn(kind: string, target: string): string | undefined {
  return target.startsWith(`${kind}:`) ? target.slice(kind.length + 1) : undefined;
}
