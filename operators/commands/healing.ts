// Commands on faults and their fixes.
import { selfHealingContract } from "../../services/self-healing/self-healing.contract.ts";
import { catalogue, type FaultCode } from "../../mixins/healing/catalogue.ts";
import { optional } from "../../services/shared/params/modifiers.ts";
import { flag, oneOf } from "../../services/shared/params/rules.ts";
import { command } from "../command.ts";
import { Refusal } from "../failures.ts";
import type { Result, Session } from "../session.ts";

type Fix = Result<"self-healing.fixes">["items"][number];

const { status, code, page } = selfHealingContract["self-healing.incidents"].query;
const fixStatuses = ["proposed", "confirmed", "suspended"] as const;
const incidentsMax = 50;

/** The catalogue is never empty: its detectors would not compile. */
const codesOf = (codes: readonly FaultCode[]) => [codes[0] ?? "none", ...codes.slice(1)] as const;
const anyFault = oneOf(codesOf(catalogue.map((fault) => fault.code)), { description: "The fault's code" });
const healable = oneOf(
  codesOf(catalogue.filter(({ remedy }) => remedy !== null).map((fault) => fault.code)),
  {
    description: "The fault's code; what has no remedy cannot be confirmed",
  },
);

async function fixOf(session: Session, wanted: string): Promise<Fix> {
  const { items } = await session.call("self-healing.fixes", {});
  const fix = items.find((each) => each.code === wanted);
  if (fix === undefined) throw new Refusal(`${wanted} was not met yet: \`fixes seed\` proposes every fix.`);
  return fix;
}

export const healingCommands = [
  command({
    name: "incidents",
    does: "What is or was at fault, newest first",
    calls: ["self-healing.incidents"],
    fields: { status, code, page },
    columns: ["id", "code", "status", "target", "tenant_id", "tries", "detected_at", "would_do"],
    run: (session, params) => session.call("self-healing.incidents", { limit: incidentsMax, ...params }),
  }),
  command({
    name: "fixes",
    does: "Known faults that were met or seeded, and whether their remedy is confirmed",
    calls: ["self-healing.fixes"],
    fields: { status: optional(oneOf(fixStatuses, { description: "Only fixes in this state" })) },
    columns: ["code", "status", "risk", "open_incidents", "healed", "failed", "suspended_reason", "title"],
    async run(session, { status: wanted }) {
      const { items } = await session.call("self-healing.fixes", {});
      const kept = items.filter((fix) => wanted === undefined || fix.status === wanted);
      return { items: kept, total: kept.length };
    },
  }),
  command({
    name: "fixes seed",
    does: "Proposes every fix that is built in",
    calls: ["self-healing.seed"],
    fields: { overwrite: optional(flag({ description: "Also those that were edited or confirmed, anew" })) },
    changes: true,
    run: (session, params) => session.call("self-healing.seed", params),
  }),
  command({
    name: "fixes delete",
    does: "Deletes a fix: its fault is not looked for any more until it is seeded again",
    calls: ["self-healing.fixes", "self-healing.remove"],
    fields: { code: anyFault },
    places: ["code"],
    changes: true,
    destroys: "self-healing.remove",
    warning: async (_session, params) => ({
      lines: [`This deletes the fix of ${params.code}: nobody looks for that fault any more.`],
      word: params.code,
    }),
    async run(session, params) {
      const { id } = await fixOf(session, params.code);
      await session.call("self-healing.remove", { fix_id: id });
      return { deleted: true };
    },
  }),
  command({
    name: "confirm",
    does: "Lets a fix be applied by itself from now on, and heals what waits for it",
    calls: ["self-healing.fixes", "self-healing.confirm"],
    fields: { code: healable },
    places: ["code"],
    changes: true,
    async run(session, params) {
      const { id } = await fixOf(session, params.code);
      return session.call("self-healing.confirm", { fix_id: id });
    },
  }),
  command({
    name: "look",
    does: "Looks for all faults now, instead of when each is due",
    calls: ["self-healing.look"],
    fields: {},
    changes: true,
    run: (session) => session.call("self-healing.look", {}),
  }),
];
