// The filter of the audit log by action: one action, or all actions of a resource.

const actionFilter = /^[a-z_]+\.(?:[a-z_]+|\*)$/;

/** @returns the reason why the filter is refused, or undefined */
export function actionFilterFault(value: unknown): string | undefined {
  return typeof value === "string" && !actionFilter.test(value)
    ? "an action is 'resource.verb', or 'resource.*' for all of a resource"
    : undefined;
}
