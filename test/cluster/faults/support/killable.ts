// A process that is killed and started again, over and over, on one database.
import { addressOf, runProcess, type TestService } from "../../../support/service.ts";

export interface Killable {
  url: string;
  kill(): Promise<void>;
  stop(): Promise<unknown>;
}

/** Starts one more process of the service, and waits until it is ready. */
export async function startKillable(service: TestService): Promise<Killable> {
  const child = runProcess(service.settings);
  const url = await addressOf(child);
  return {
    url,
    stop: () => child.stop(),
    async kill() {
      child.child.kill("SIGKILL");
      await child.exited;
    },
  };
}
