// The process's one way out, shared by all services that speak to foreign addresses.
import { perRuntime } from "../per-runtime.ts";
import { Outbound } from "./outbound.ts";

export const outboundOf = perRuntime(
  ({ config }) => new Outbound({ allowSubnets: config.webhookAllowSubnets }),
);
