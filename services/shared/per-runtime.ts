// Things a service has once per process and makes when the first call needs them: the runtime (settings, secrets,
// database) opens only after the services are loaded.
import type { Runtime } from "../../host/process/runtime.ts";

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
