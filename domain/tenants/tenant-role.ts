export const TENANT_ROLES = ['OWNER', 'ADMIN', 'MEMBER', 'AUDITOR'] as const;
export type TenantRole = (typeof TENANT_ROLES)[number];

const INCLUDED_ROLES: Readonly<Record<TenantRole, readonly TenantRole[]>> = {
  OWNER: TENANT_ROLES,
  ADMIN: ['ADMIN', 'MEMBER', 'AUDITOR'],
  MEMBER: ['MEMBER'],
  AUDITOR: ['AUDITOR'],
};

/** Whether `role` allows everything that `other` allows. */
export const includesRole = (role: TenantRole, other: TenantRole): boolean => INCLUDED_ROLES[role].includes(other);

/** Null for MEMBER and AUDITOR: neither includes the other. */
export const lesserRole = (one: TenantRole, other: TenantRole): TenantRole | null => {
  if (includesRole(one, other)) return other;
  return includesRole(other, one) ? one : null;
};
