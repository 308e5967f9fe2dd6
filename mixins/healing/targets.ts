// Targets of faults are written as "kind:name", for example "job:12". Any other text names no target.

/** @returns the number after `kind:`, or undefined when the target has another form */
export function numberIn(kind: string, target: string): number | undefined {
  const text = textIn(kind, target);
  if (text === undefined || !/^\d{1,15}$/.test(text)) return undefined;
  return Number(text);
}

/** @returns the text after `kind:`, or undefined when the target is of another kind */
export function textIn(kind: string, target: string): string | undefined {
  return target.startsWith(`${kind}:`) ? target.slice(kind.length + 1) : undefined;
}
