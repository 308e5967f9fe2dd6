// Runs in every process, whatever SERVICES names, for requests to a process instead of a service. It owns no
// data and needs no database.
import type { ServiceSchema } from "moleculer";
import { implement } from "../shared/bus/bus.ts";
import { levelsOf } from "../shared/log-levels.ts";
import { nodeContract } from "./node.contract.ts";

const node: ServiceSchema = {
  name: "node",
  actions: implement(nodeContract, {
    "node.log_level": async ({ params: { level, module }, runtime: { log, config } }) => {
      const levels = levelsOf(log);
      const isKnown = level === undefined ? levels.has(module) : levels.set(level, module);
      return { node: config.nodeId, has_module: isKnown, levels: levels.get() };
    },
  }),
};

export default node;
