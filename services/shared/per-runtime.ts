// Objects that exist once per process and are created at their first use: the runtime (settings, secrets, database) opens only
// after the services are loaded.
import type { Runtime } from "../../host/process/runtime.ts";

/** @returns a function that calls `make` once per runtime, and then returns the same object */
export function perRuntime<T>(make: (runtime: Runtime) => T): (runtime: Runtime) => T {
  const made = new WeakMap<Runtime, { value: T }>();
  return (runtime) => {
    const known = made.get(runtime);
    if (known !== undefined) return known.value;
    const fresh = { value: make(runtime) };
    made.set(runtime, fresh);
    return fresh.value;
  };
}
