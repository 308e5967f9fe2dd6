// The name of a schema in an OpenAPI document, made of a dotted name.

/** "users.set_role" → "UsersSetRole" */
export function schemaName(dotted: string): string {
  return dotted
    .split(/[._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
}
