// The table of all operators' commands. A new command needs an entry in one of these files, and a row in docs/operate.md.
import type { Command } from "../command.ts";
import { auditCommands } from "./audit.ts";
import { backupCommands } from "./backups.ts";
import { callCommand } from "./call.ts";
import { clusterCommands } from "./cluster.ts";
import { healingCommands } from "./healing.ts";
import { keyCommands } from "./keys.ts";
import { tenantCommands } from "./tenants.ts";
import { userCommands } from "./users.ts";
import { workCommands } from "./work.ts";

const named: readonly Command[] = [
  ...clusterCommands,
  ...tenantCommands,
  ...userCommands,
  ...auditCommands,
  ...workCommands,
  ...keyCommands,
  ...backupCommands,
  ...healingCommands,
];

export const commands: readonly Command[] = [
  ...named,
  callCommand(new Set(named.flatMap(({ destroys }) => (destroys === undefined ? [] : [destroys])))),
];
