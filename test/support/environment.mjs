// Jest's environment of Node, which besides sees to it that what a test file started ends with it: a process that still
// runs after the file is ended and fails it, and a guard (guard.ts) ends what a killed run leaves behind. It stands
// outside the tests' realm, where `process` and `child_process` are the real ones.
import { ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { TestEnvironment } from "jest-environment-node";

/** For those that were told to end and are about to; `testEnvironmentOptions.endMsMax` overrides it. */
const endMsMaxDefault = 20_000;
const lookEveryMs = 500;

/** What the tests of this process have started and has not ended, with its command. */
const running = new Map();

const guard = spawn(process.execPath, [join(import.meta.dirname, "guard.ts")], {
  detached: true,
  stdio: ["pipe", "ignore", "ignore"],
});
guard.unref();
guard.stdin.unref();
// Without a guard the tests go on as before.
guard.stdin.on("error", () => undefined);

const spawnOfNode = ChildProcess.prototype.spawn;
ChildProcess.prototype.spawn = function (options) {
  const failed = spawnOfNode.call(this, options);
  const { pid } = this;
  if (pid !== undefined) {
    running.set(this, options.args?.join(" ").slice(0, 200) ?? options.file);
    guard.stdin.write(`+${pid}\n`);
    this.once("exit", () => {
      running.delete(this);
      guard.stdin.write(`-${pid}\n`);
    });
  }
  return failed;
};

// A worker whose run was killed would go on to the end of its file, with nobody to tell. Listening to the end of the channel
// to it would keep an idle worker alive.
const parent = process.ppid;
if (process.connected) {
  setInterval(() => {
    if (process.ppid !== parent) process.exit(1);
  }, lookEveryMs).unref();
}

export default class Environment extends TestEnvironment {
  #endMsMax;

  constructor(config, context) {
    super(config, context);
    this.#endMsMax = config.projectConfig.testEnvironmentOptions.endMsMax ?? endMsMaxDefault;
  }

  async teardown() {
    await super.teardown();
    const ended = [...running.keys()].map(
      (child) => new Promise((resolve) => (running.has(child) ? child.once("exit", resolve) : resolve())),
    );
    let late;
    await Promise.race([
      Promise.all(ended),
      new Promise((resolve) => {
        late = setTimeout(resolve, this.#endMsMax);
      }),
    ]);
    clearTimeout(late);
    if (running.size === 0) return;
    const commands = [...running.values()];
    for (const child of running.keys()) {
      child.kill("SIGCONT");
      child.kill("SIGKILL");
    }
    await Promise.all(ended);
    throw new Error(`the tests of this file have left running:\n${commands.join("\n")}`);
  }
}
