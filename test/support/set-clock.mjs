// Loaded into a process before its program (--import): its clock is ahead by as many ms as the file says that TEST_CLOCK_FILE
// names, and is set whenever that file changes. performance.now(), timers and the database's clock go on as they were.
import { readFileSync } from "node:fs";

const readEveryMs = 20;
const machine = Date;
let aheadMs = 0;
const read = () => {
  try {
    aheadMs = Number(readFileSync(process.env.TEST_CLOCK_FILE ?? "", "utf8"));
  } catch {
    // It is being written, or there is none.
  }
};
read();
setInterval(read, readEveryMs).unref();

const now = () => machine.now() + aheadMs;
globalThis.Date = new Proxy(machine, {
  construct: (target, given, made) => Reflect.construct(target, given.length === 0 ? [now()] : given, made),
  get: (target, name) => (name === "now" ? now : Reflect.get(target, name, target)),
});
