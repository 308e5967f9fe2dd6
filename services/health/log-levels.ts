// Reads and changes the log levels of all processes while they run. A change lasts until the process ends; at
// start LOG_LEVEL applies.
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import { Invalid, NotFound } from "../shared/errors.ts";
import type { LogLevel } from "../shared/log-levels.ts";
import { offeringNodes } from "../shared/bus/nodes.ts";
import type { RowOf } from "../shared/database/row.ts";

const askMs = 5_000;

interface LevelChange {
  level?: LogLevel | undefined;
  module?: string | undefined;
  node?: string | undefined;
}

export interface NodeLevels {
  node: string;
  levels: string;
}

/**
 * @throws NotFound for an unknown node or a module that no process has, Invalid for a module without a level
 */
export async function logLevels(
  call: Call<LevelChange>,
): Promise<{ items: NodeLevels[]; unanswered: string[] }> {
  const { level, module, node } = call.params;
  const offering = offeringNodes(call.broker, "node");
  if (node !== undefined && !offering.includes(node)) throw new NotFound("Node");
  if (level === undefined && module !== undefined)
    throw new Invalid([{ loc: ["body", "level"], msg: "Field required", type: "missing" }]);
  const ask = async (asked: Pick<LevelChange, "level" | "module">) =>
    node === undefined
      ? call.busEach("node.log_level", asked, askMs)
      : [await call.busAt(node, "node.log_level", asked, askMs)];
  // Checked first, so that a refused request is not in the audit log as done.
  if (module !== undefined && !(await ask({ module })).some(({ has_module: isKnown }) => isKnown))
    throw new NotFound("Module");
  // Audited before it is done, so that nothing happens without an audit entry.
  if (level !== undefined) await audit(call, level);
  const answers = await ask({ level, module });
  if (level !== undefined)
    call.runtime.log.warn({ to: level, module, node }, "the level of the log was changed");
  const answered = new Set(answers.map((each) => each.node));
  return {
    items: answers.map((each) => ({ node: each.node, levels: formatLevels(each.levels) })),
    unanswered: (node === undefined ? offering : [node]).filter((each) => !answered.has(each)),
  };
}

async function audit(
  { db, caller, params: { module, node } }: Call<LevelChange>,
  level: LogLevel,
): Promise<void> {
  await db.change(platform, caller, async (change) => {
    const [row] = await change.execute<RowOf<"tenants", "id">>(
      "select id from tenants where subdomain = 'platform' and deleted_at is null",
    );
    if (row === undefined) throw new Error("there is no platform tenant");
    const changes = { level, module: module ?? "all", node: node ?? "all" };
    change.audit({ tenantId: row.id, action: "log.set_level", changes });
  });
}

/** Formats the levels as `main info, access warn`. Modules at the level of `main` are left out. */
function formatLevels(levels: unknown): string {
  const { main = "", ...modules } = levels as Record<string, string>;
  const others = Object.entries(modules).filter(([, level]) => level !== main);
  return [`main ${main}`, ...others.map(([name, level]) => `${name} ${level}`)].join(", ");
}
