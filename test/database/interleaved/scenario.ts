// What two people do to one thing in the same moment must come out as if one had come after the other. A scenario says
// what can be done to a thing, and what each doing makes of it when it is alone: from that all serial outcomes follow.
import type { World } from "../../contract/walk/world.ts";

export interface Doing<State> {
  name: string;
  method: string;
  path(id: number): string;
  body?(id: number): object;
  /** @returns what it makes of the thing, and its answer's status */
  alone(state: State): { state: State; status: number };
}

export interface Scenario<State = unknown> {
  name: string;
  by: "admin" | "superadmin";
  /** A new thing. @returns its id */
  make(world: World): Promise<number>;
  begins: State;
  doings: readonly Doing<State>[];
  /** The thing as it is now, and as `alone` describes it. */
  look(world: World, id: number): Promise<State>;
}

export interface Outcome {
  /** Of the first and of the second doing. */
  statuses: readonly [number, number];
  state: unknown;
}

/** Both orders. */
export function serialOutcomes<State>(begins: State, first: Doing<State>, second: Doing<State>): Outcome[] {
  const one = first.alone(begins);
  const then = second.alone(one.state);
  const other = second.alone(begins);
  const after = first.alone(other.state);
  return [
    { statuses: [one.status, then.status], state: then.state },
    { statuses: [after.status, other.status], state: after.state },
  ];
}
