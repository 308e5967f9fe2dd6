// Commands on the keys that encrypt patients' texts. A new key is generated here, and the service stores it wrapped with
// BOOT_SECRET: nobody has to see it.
import { randomBytes } from "node:crypto";
import { optional } from "../../services/shared/params/modifiers.ts";
import { flag, id } from "../../services/shared/params/rules.ts";
import { command } from "../command.ts";
import { Refusal } from "../failures.ts";
import type { Result, Session } from "../session.ts";

const keyBytes = 32;
const goesOn = "The rotation goes on in the service: `rotation wait` follows it.";

type Status = Result<"crypto.status">;

async function wait(session: Session): Promise<Status> {
  return session.waitFor(
    async () => {
      const status = await session.call("crypto.status", {});
      if (status.rotation === null) throw new Refusal("There was no rotation yet.");
      return status;
    },
    ({ rotation }) => ({
      ends: rotation?.status !== "running",
      step: `${rotation?.rows_done ?? 0} of ${rotation?.rows_total ?? 0} rows`,
      percent:
        rotation === null || rotation.rows_total === 0
          ? 100
          : (100 * rotation.rows_done) / rotation.rows_total,
    }),
    goesOn,
  );
}

export const keyCommands = [
  command({
    name: "rotation",
    does: "How far the last rotation of the key is, which keys there are, and what does not open",
    calls: ["crypto.status"],
    fields: {},
    run: (session) => session.call("crypto.status", {}),
  }),
  command({
    name: "rotation start",
    does: "Uses a new random master key at once, and waits until everything is sealed anew under it",
    calls: ["crypto.rotate", "crypto.status"],
    fields: { detach: optional(flag({ description: "Does not wait for the end" })) },
    changes: true,
    async run(session, { detach }) {
      const begun = await session.call("crypto.rotate", {
        new_key: randomBytes(keyBytes).toString("base64"),
      });
      return detach === true ? begun : wait(session);
    },
  }),
  command({
    name: "rotation wait",
    does: "Waits until the rotation that runs has ended",
    calls: ["crypto.status"],
    fields: {},
    run: (session) => wait(session),
  }),
  command({
    name: "keys destroy",
    does: "Destroys a data key that nothing needs",
    calls: ["crypto.destroy_key"],
    fields: { key: id({ description: "The key's id" }) },
    places: ["key"],
    changes: true,
    destroys: "crypto.destroy_key",
    warning: async (_session, params) => ({
      lines: [`This destroys the key ${params.key} for good: what is sealed under it never opens again.`],
      word: String(params.key),
    }),
    async run(session, params) {
      await session.call("crypto.destroy_key", { key_id: params.key });
      return { destroyed: true };
    },
  }),
];
