// What goes between the service and the thread that moves its bytes. Errors cross as plain facts, as a class does not survive
// the way; what a job makes of them (job-failed.ts) is then the same on both sides.
import { ArchiveDamaged } from "../../shared/archive/sealed-stream.ts";
import { errorCode } from "../../shared/start-error.ts";
import { StoreError, type StoreFault } from "../../../mixins/store/store.ts";
import type { StoreSettings } from "../../../mixins/store/store-of.ts";
import { JobFailed } from "../job-failed.ts";
import type { FailureCode } from "../job.rules.ts";
import type { Moved, Moving } from "./moving.ts";

/** With the store's credentials and the login's password: handed over in memory, never by the environment. */
export interface ThreadSettings {
  databaseUrl: string;
  store: StoreSettings;
}

export type Task = Exclude<keyof Moving, "close">;

export type ToThread =
  /** `given`: all that the work takes before what it tells and its signal. */
  { id: number; task: Task; given: unknown[] } | { id: number; abort: true } | { giveWay: boolean };

export type FromThread =
  | { id: number; moved: Moved }
  | { id: number; result: unknown }
  | { id: number; failure: Facts };

interface Facts {
  kind: "store" | "damaged" | "job" | "other";
  name: string;
  message: string;
  code: string;
  fault?: StoreFault;
  stack: string;
}

export function factsOf(error: unknown): Facts {
  const { name, message, stack = "" } = error instanceof Error ? error : new Error(String(error));
  const plain = { name, message, stack, code: errorCode(error) };
  if (error instanceof StoreError) return { ...plain, kind: "store", fault: error.fault };
  if (error instanceof ArchiveDamaged) return { ...plain, kind: "damaged" };
  if (error instanceof JobFailed) return { ...plain, kind: "job" };
  return { ...plain, kind: "other" };
}

export function errorFrom({ kind, name, message, code, fault, stack }: Facts): Error {
  const make = (): Error => {
    if (kind === "store" && fault !== undefined) return new StoreError(fault, message);
    if (kind === "damaged") return new ArchiveDamaged(message);
    // The thread's JobFailed had a code of ours.
    if (kind === "job") return new JobFailed(code as FailureCode);
    return Object.assign(new Error(message), { name, ...(code === "" ? {} : { code }) });
  };
  const error = make();
  error.stack = stack;
  return error;
}
