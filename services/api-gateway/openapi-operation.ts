// One route as an OpenAPI operation.
import type { Access } from "../shared/access.ts";
import type { ActionContract } from "../shared/bus/bus.ts";
import type { Lift } from "../shared/params/json-schema.ts";
import { parametersAndBody } from "../shared/params/openapi.ts";
import { schemaName } from "../shared/params/schema-name.ts";
import { errorAnswers, fileAnswer, successAnswer } from "./openapi-answers.ts";
import { contractOf, type Route } from "./routes.ts";

/** @param signIn the example body of the operation that everybody tries first */
export function operationOf(route: Route, operationId: string, lift: Lift, signIn: object): object {
  const contract = contractOf(route);
  const { access, summary } = contract;
  const name = schemaName(route.action);
  const { parameters, requestBody } = parametersAndBody(
    { ...contract, body: contract.rawBody?.fields ?? contract.body },
    lift,
    `${name}Request`,
  );
  const errors = errorAnswers(route, contract, name, lift);
  const success = contract.download === true ? fileAnswer : successAnswer(route.status, contract, lift);
  return {
    operationId,
    tags: [route.group],
    summary,
    description: describeAccess(access),
    security: access.who === "public" ? [] : [{ bearerAuth: [] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(requestBody === undefined ? {} : { requestBody: bodyOf(route, contract, requestBody, signIn) }),
    responses: Object.fromEntries([[route.status, success], ...errors]),
  };
}

/** Who may call, as one sentence. @throws for an access that no route should have */
function describeAccess(access: Access): string {
  switch (access.who) {
    case "public":
      return "Open to anyone, without a token.";
    case "signed-in":
      return "For every signed-in user.";
    case "roles":
      return `For ${inWords(access.roles.map((role) => `\`${role}\``))}.`;
    case "services":
      throw new Error("an action for services only has no place in the interface");
  }
}

function inWords(words: readonly string[]): string {
  const last = words.at(-1) ?? "nobody";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} and ${last}`;
}

type Body = NonNullable<ReturnType<typeof parametersAndBody>["requestBody"]>;

/** A body is required even if all its fields are optional, unless the contract says that it may be left out. */
function bodyOf(
  { action }: Route,
  { bodyOptional, example: own }: ActionContract,
  body: Body,
  signIn: object,
): object {
  const given = action === "auth.login" ? signIn : own;
  const example = given === undefined ? {} : { example: given };
  return {
    required: bodyOptional !== true,
    content: { "application/json": { ...body.content["application/json"], ...example } },
  };
}
