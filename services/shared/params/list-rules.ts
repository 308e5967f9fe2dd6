/** The rules of a list besides its items: their number, and that none occurs twice. */
import { failure, valueError } from "./failure.ts";
import type { Read } from "./read-text.ts";
import type { ListShape } from "./types.ts";

const lengthMaxUnlessStated = 1000;

/** @returns the largest number of items; 1,000 unless set */
export function lengthMax({ max = lengthMaxUnlessStated }: ListShape): number {
  return max;
}

/** Reported before any item is read: a list beyond its bound costs nothing. */
export function tooLong(shape: ListShape): Read {
  const max = lengthMax(shape);
  return (list, failures) => void failures.push(failure("too_long", lengthSentence("most", max, list)));
}

/** Runs after all items are valid, because Pydantic counts "after validation". */
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
