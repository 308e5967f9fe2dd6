// The six roles and their order. A role may be granted only by a role of at least the same rank.

export const roles = ["superadmin", "admin", "head_doctor", "doctor", "nurse", "registrar"] as const;
export type Role = (typeof roles)[number];

/** Roles that a person may choose at registration; an administrator grants the others. */
export const registrableRoles: readonly Role[] = ["doctor", "nurse", "registrar"];

const rank: Record<Role, number> = {
  superadmin: 4,
  admin: 3,
  head_doctor: 2,
  doctor: 1,
  nurse: 1,
  registrar: 1,
};

/** Whether `role` has a higher rank than `than`. */
export function isHigher(role: Role, than: Role): boolean {
  return rank[role] > rank[than];
}
