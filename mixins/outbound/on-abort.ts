// Abort listeners for hundreds of requests on one signal. A signal keeps its own listeners in a list, and each removal walks
// through that list. Here a set is used, with one listener on the signal.

const listenersOf = new WeakMap<AbortSignal, Set<() => void>>();

/** @returns a function that removes the listener. A signal that has already fired calls nothing. */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal === undefined) return () => {};
  let listeners = listenersOf.get(signal);
  if (listeners === undefined) {
    const fresh = new Set<() => void>();
    signal.addEventListener("abort", () => {
      for (const each of fresh) each();
    });
    listenersOf.set(signal, fresh);
    listeners = fresh;
  }
  const own = listeners;
  own.add(listener);
  return () => void own.delete(listener);
}
