// Faults of the bus: what is sealed, whose start is meant, and what a node refuses before its action runs.
import type { PlantedFault } from "../planted-fault.ts";

export const busFaults: readonly PlantedFault[] = [
  {
    says: "a sealed message never grows old",
    file: "services/shared/bus/bus-seal.ts",
    text: `if (Math.abs(Date.now() - moment) > freshMsMax) return this.#drop("stale");`,
    replacement: "",
    tests: { "test/unit/services/shared/bus/bus-seal.test.ts": "is refused when it is" },
  },
  {
    says: "a message that was overtaken by a whole window opens again",
    file: "services/shared/bus/counter-window.ts",
    text: "if (counter <= this.#highest - windowLength) return true;",
    replacement: "if (counter <= this.#highest - windowLength) return false;",
    tests: {
      "test/unit/services/shared/bus/bus-seal.test.ts": "that are overtaken by a whole window are dropped",
    },
  },
  {
    says: "the places of skipped numbers are not freed",
    file: "services/shared/bus/counter-window.ts",
    text: "this.#forgetUpTo(counter);",
    replacement: "",
    tests: {
      "test/unit/services/shared/bus/bus-seal.test.ts": "the places of skipped numbers are free again",
    },
  },
  {
    says: "messages of a sender that was forgotten open again",
    file: "services/shared/bus/bus-seal.ts",
    text: "this.#unknown.afterMoment = Math.max(this.#unknown.afterMoment, quietest[1].latestMoment);",
    replacement: "",
    tests: { "test/unit/services/shared/bus/bus-seal.test.ts": "let the one go that was quiet for longest" },
  },
  {
    says: "a message counts as come before it was opened, so a stranger uses up the sender's numbers",
    file: "services/shared/bus/bus-seal.ts",
    text: `const data = this.#decrypt(key, subject, message);`,
    replacement: `known?.come.add(counter);
    const data = this.#decrypt(key, subject, message);`,
    tests: { "test/unit/services/shared/bus/bus-seal.test.ts": "uses up none of its numbers" },
  },
  {
    says: "a request for an earlier start of the node runs",
    file: "services/shared/bus/bus-starts.ts",
    text: `if (command === "REQ" || command === "EVENT") return meant === own;`,
    replacement: `if (command === "REQ" || command === "EVENT") return true;`,
    tests: {
      "test/unit/services/shared/bus/bus-starts.test.ts": "a request to the earlier start does not run",
    },
  },
  {
    says: "an introduction that was meant for an earlier start is believed",
    file: "services/shared/bus/bus-starts.ts",
    text: `if (command === "INFO" && meant === own) {`,
    replacement: `if (command === "INFO") {`,
    tests: {
      "test/unit/services/shared/bus/bus-starts.test.ts":
        "what the earlier start said of itself is not believed",
    },
  },
  {
    says: "a node does not refuse a foreign tenant_id",
    file: "host/process/middleware.ts",
    text: "if (action.namesTenant === true) assertOwnTenant(caller, ctx.params);",
    replacement: "",
    tests: {
      "test/unit/services/shared/bus/moleculer.test.ts": "is refused another tenant on the node itself",
    },
  },
  {
    says: "a node does not decide access",
    file: "host/process/middleware.ts",
    text: "assertAccess(action.access, told);",
    replacement: "",
    tests: { "test/unit/services/shared/bus/moleculer.test.ts": "from another node, what its access says" },
  },
  {
    says: "a 500 tells the error's own message",
    file: "services/shared/failures.ts",
    text: `new Errors.MoleculerError("Internal error", 500`,
    replacement: `new Errors.MoleculerError(message, 500`,
    tests: { "test/unit/services/shared/failures.test.ts": "is one constant 500" },
  },
  {
    says: "a schedule enqueues a job per replica",
    file: "mixins/jobs/jobs.ts",
    text: "[task, due, attemptsMax, queue]",
    replacement:
      "[task, new Date(due.getTime() + Math.floor(Math.random() * 600) * 60_000), attemptsMax, queue]",
    tests: { "test/database/interleaved/forced-orders.test.ts": "enqueue one job per occurrence" },
  },
  {
    says: "a rate that PostgreSQL cannot count lets everybody through",
    file: "services/shared/rate-limits.ts",
    text: "insuranceLimiter: new RateLimiterMemory(limits),",
    replacement: "insuranceLimiter: new RateLimiterMemory({ ...limits, points: 1_000_000_000 }),",
    tests: { "test/unit/services/shared/rate-limits.test.ts": "a process counts by itself" },
  },
];
