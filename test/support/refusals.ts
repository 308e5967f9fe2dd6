// Whether a refusal is one that the description of its operation names: by its status, its code and its shape.
import { errorShape, validationErrorShape } from "../../services/api-gateway/openapi-answers.ts";
import { type ErrorStatus, refusalsOf } from "../../services/api-gateway/refusals-of.ts";
import { contractOf, type Route, routes } from "../../services/api-gateway/routes.ts";
import { resultFaults } from "./result-faults.ts";

const ordered = [...routes].sort((a, b) => a.path.split("{").length - b.path.split("{").length);
const patterns = new Map(
  ordered.map((route) => [route, new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, "[^/]+")}/?$`)] as const),
);

/** The operation of a request, or undefined; a fixed path goes before one with a parameter, as in the router. */
export function routeOf(method: string, address: string): Route | undefined {
  const path = address.split("?")[0] ?? "";
  const fixed = routes.some((route) => route.path === path);
  return ordered.find(
    (route) => route.method === method && (fixed ? route.path === path : patterns.get(route)?.test(path)),
  );
}

/** @returns what the description does not say of this refusal, as sentences */
export function refusalFaults(route: Route, status: number, body: unknown): string[] {
  const name = `${route.method} ${route.path}`;
  const codes = [...refusalsOf(route, contractOf(route))].find(([each]) => each === status)?.[1];
  if (codes === undefined) return [`${name} is not described to answer ${status}: ${JSON.stringify(body)}`];
  const shape = (status as ErrorStatus) === 422 ? validationErrorShape : errorShape(codes, "Error");
  return resultFaults(shape, body).map((fault) => `${name} ${status}: ${fault}: ${JSON.stringify(body)}`);
}
