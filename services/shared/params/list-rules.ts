/** What a list has to hold besides its items: how many they are, and that none comes twice. */
import { failure, valueError } from "./failure.ts";
import type { Read } from "./read-text.ts";
import type { ListShape } from "./types.ts";

const lengthMaxUnlessStated = 1000;

export function lengthMax({ max = lengthMaxUnlessStated }: ListShape): number {
  return max;
}

/** Said before any item is looked at: a list over its bound costs nothing. */
export function tooLong(shape: ListShape): Read {
  const max = lengthMax(shape);
  return (list, failures) => void failures.push(failure("too_long", lengthSentence("most", max, list)));
}

/** Runs once all items hold, as Pydantic counts "after validation". */
export function finishList({ min = 0, unique = false }: ListShape): Read {
  return (list, failures) => {
    if (!Array.isArray(list)) return undefined;
    if (list.length < min)
      return void failures.push(failure("too_short", lengthSentence("least", min, list)));
    if (unique && new Set(list).size < list.length)
      return void failures.push(valueError("the items must be unique"));
    return list;
  };
}

function lengthSentence(bound: "least" | "most", count: number, list: unknown): string {
  const length = Array.isArray(list) ? list.length : 0;
  const items = count === 1 ? "item" : "items";
  return `List should have at ${bound} ${count} ${items} after validation, not ${length}`;
}
