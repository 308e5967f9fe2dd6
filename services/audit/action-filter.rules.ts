// What one may look for in the log by action: one, or all of a resource.

const actionFilter = /^[a-z_]+\.(?:[a-z_]+|\*)$/;

export function actionFilterFault(value: unknown): string | undefined {
  return typeof value === "string" && !actionFilter.test(value)
    ? "an action is 'resource.verb', or 'resource.*' for all of a resource"
    : undefined;
}
