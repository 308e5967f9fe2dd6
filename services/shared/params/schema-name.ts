// The name under which the schema of something with a dotted name stands in an OpenAPI document.

/** "users.set_role" → "UsersSetRole" */
export function schemaName(dotted: string): string {
  return dotted
    .split(/[._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
}
