export const TENANT_ROLES = ['OWNER', 'ADMIN', 'MEMBER', 'AUDITOR'] as const;
export type TenantRole = (typeof TENANT_ROLES)[number];

const INCLUDED_ROLES: Readonly<Record<TenantRole, readonly TenantRole[]>> = {
  OWNER: TENANT_ROLES,
  ADMIN: ['ADMIN', 'MEMBER', 'AUDITOR'],
  MEMBER: ['MEMBER'],
  AUDITOR: ['AUDITOR'],
};

/** Whether the role allows everything that the other one allows. */
export const includesRole = (role: TenantRole, other: TenantRole): boolean => INCLUDED_ROLES[role].includes(other);

/**
 * Returns the role that allows less; null if neither role includes the other: MEMBER and AUDITOR allow different
 * things.
 */
export const lesserRole = (one: TenantRole, other: TenantRole): TenantRole | null => {
  if (includesRole(one, other)) return other;
  return includesRole(other, one) ? one : null;
};
