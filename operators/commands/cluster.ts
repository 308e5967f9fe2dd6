// Commands on the whole installation: its health, its processes, their log levels.
import { healthContract } from "../../services/health/health.contract.ts";
import { command } from "../command.ts";

const { level, module, node } = healthContract["health.log_levels"].body;

interface NodeFacts {
  id: string;
  available: boolean;
  hostname: string | null;
  services: readonly { name: string }[];
  instanceID?: string;
}

export const clusterCommands = [
  command({
    name: "health",
    does: "How the service is, with counts of all tenants",
    calls: ["health.report"],
    fields: {},
    run: (session) => session.call("health.report", {}),
  }),
  command({
    name: "nodes",
    does: "The processes of the installation, with the services that each runs",
    calls: [],
    fields: {},
    async run({ broker }) {
      // The registry's list is typed as any; these are its documented fields.
      const list = broker.registry.getNodeList({ withServices: true }) as unknown as NodeFacts[];
      const items = list
        .filter(({ id }) => id !== broker.nodeID)
        .sort((a, b) => a.id.localeCompare(b.id))
        .map(({ id, available, hostname, services }) => ({
          node: id,
          state: available ? "there" : "gone",
          host: hostname,
          services: services.map(({ name }) => name).join(","),
        }));
      return { items, total: items.length };
    },
  }),
  command({
    name: "loglevel",
    does: "How much the processes tell in their logs; with a level it is changed, until they end. Module `*` is all of them",
    calls: ["health.log_levels"],
    fields: { level, module, node },
    places: ["level", "module", "node"],
    changes: (params) => params.level !== undefined,
    failed: (answer) => (answer as { unanswered: readonly string[] }).unanswered.length > 0,
    run: (session, params) => {
      const { module: named, ...rest } = params;
      return session.call("health.log_levels", named === undefined || named === "*" ? rest : params);
    },
  }),
];
