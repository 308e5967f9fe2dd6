// Being told of an abort, by hundreds at once: a signal's own listeners are a list, and each removal walks through it.

const told = new WeakMap<AbortSignal, Set<() => void>>();

/** @returns the way to take it back; for a signal that has aborted already nothing is called */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal === undefined) return () => {};
  let listeners = told.get(signal);
  if (listeners === undefined) {
    const fresh = new Set<() => void>();
    signal.addEventListener("abort", () => {
      for (const each of fresh) each();
    });
    told.set(signal, fresh);
    listeners = fresh;
  }
  const own = listeners;
  own.add(listener);
  return () => void own.delete(listener);
}
