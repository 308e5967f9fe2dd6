// How much all processes tell in their logs, asked and changed by an operator while they run. It lasts until a process ends;
// LOG_LEVEL is what it begins with.
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import { Invalid, NotFound } from "../shared/errors.ts";
import type { LogLevel } from "../shared/log-levels.ts";
import { offeringNodes } from "../shared/bus/nodes.ts";

const askMs = 5_000;

interface Wish {
  level?: LogLevel | undefined;
  module?: string | undefined;
  node?: string | undefined;
}

export interface NodeLevels {
  node: string;
  levels: string;
}

/** @throws NotFound of a node that is not there, or a module that no process has */
export async function logLevels(call: Call<Wish>): Promise<{ items: NodeLevels[]; unanswered: string[] }> {
  const { level, module, node } = call.params;
  const there = offeringNodes(call.broker, "node");
  if (node !== undefined && !there.includes(node)) throw new NotFound("Node");
  if (level === undefined && module !== undefined)
    throw new Invalid([{ loc: ["body", "level"], msg: "Field required", type: "missing" }]);
  const ask = async (asked: Pick<Wish, "level" | "module">) =>
    node === undefined
      ? call.busEach("node.log_level", asked, askMs)
      : [await call.busAt(node, "node.log_level", asked, askMs)];
  // Looked at first: what is refused is not audited as done.
  if (module !== undefined && !(await ask({ module })).some(({ has_module: isKnown }) => isKnown))
    throw new NotFound("Module");
  // Written before it is done: what was not audited does not happen.
  if (level !== undefined) await audit(call, level);
  const answers = await ask({ level, module });
  if (level !== undefined)
    call.runtime.log.warn({ to: level, module, node }, "the level of the log was changed");
  const answered = new Set(answers.map((each) => each.node));
  return {
    items: answers.map((each) => ({ node: each.node, levels: told(each.levels) })),
    unanswered: (node === undefined ? there : [node]).filter((each) => !answered.has(each)),
  };
}

async function audit({ db, caller, params: { module, node } }: Call<Wish>, level: LogLevel): Promise<void> {
  await db.change(platform, caller, async (change) => {
    const [row] = await change.execute<{ id: number }>(
      "select id from tenants where subdomain = 'platform' and deleted_at is null",
    );
    if (row === undefined) throw new Error("there is no platform tenant");
    const changes = { level, module: module ?? "all", node: node ?? "all" };
    change.audit({ tenantId: row.id, action: "log.set_level", changes });
  });
}

/** `main info, access warn`: of modules that are as the rest nothing is said. */
function told(levels: unknown): string {
  const { main = "", ...modules } = levels as Record<string, string>;
  const others = Object.entries(modules).filter(([, level]) => level !== main);
  return [`main ${main}`, ...others.map(([name, level]) => `${name} ${level}`)].join(", ");
}
