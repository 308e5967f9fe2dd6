// What our mixins and `implement` add to Moleculer's schemas.
import type { EntitySchema } from "@mikro-orm/core";
import type { ActionSchema, ServiceSchema } from "moleculer";
import type { Access } from "../access.ts";

export interface RecordsSchema extends ServiceSchema {
  entities?: readonly EntitySchema[];
}
export interface RecordsAction extends ActionSchema {
  name: string;
  access?: Access;
  /** It may run twice; told to the other nodes. */
  repeatable?: boolean;
  /** The action takes a `tenant_id` that must be the caller's own. */
  namesTenant?: boolean;
}
