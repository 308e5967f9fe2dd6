// A second node of the service under test inside the test's own process, for what has no route: an operator at its
// REPL. It shares the database, so what it does counts at the first node too.
import { join } from "node:path";
import { type ServiceSchema, ServiceBroker } from "moleculer";
import { assemble } from "../../moleculer.config.ts";
import auth from "../../services/auth/auth.service.ts";
import { readConfig } from "../../host/settings/config.ts";
import { Caller } from "../../services/shared/caller.ts";
import departments from "../../services/tenants/departments.service.ts";
import patients from "../../services/patients/patients.service.ts";
import tenants from "../../services/tenants/tenants.service.ts";
import accounts from "../../services/users/accounts.service.ts";
import users from "../../services/users/users.service.ts";
import type { TestService } from "./service.ts";

export interface Operator {
  call(action: string, params: Record<string, unknown>, by?: Caller): Promise<unknown>;
  stop(): Promise<void>;
}

export async function startOperator(service: TestService): Promise<Operator> {
  const settings = {
    ...service.settings,
    DATA_DIR: join(service.database.folder, "operator"),
    LOG_LEVEL: "silent",
    NODE_ID: "operator",
  };
  const { options, runtime } = assemble(readConfig(settings), () => {});
  const broker = new ServiceBroker(options);
  const schemas: ServiceSchema[] = [auth, accounts, tenants, departments, users, patients];
  for (const schema of schemas) broker.createService(schema);
  await broker.start();
  const facts = { via: "repl", requestId: "operator-request", ip: null, userAgent: null };
  const operator = new Caller({ ...facts, principal: { kind: "operator", name: "tests" } });
  return {
    call: (action, params, by = operator) => broker.call(action, params, { meta: { caller: by } }),
    async stop() {
      await broker.stop();
      await runtime.close();
    },
  };
}
