/** Who may do what: each role may do everything that the ones before it may. */
export const ROLES = ["viewer", "operator", "admin"] as const;
export type Role = (typeof ROLES)[number];

export const mayAct = (have: Role, need: Role): boolean => ROLES.indexOf(have) >= ROLES.indexOf(need);
