import type { AllowedAccountEvent } from '../../domain/identity/allowed-account.ts';
import type { AuditOf } from '../audit-record.ts';

export const allowedAccountAudit = {
  AccountAllowed: {
    summary: 'allowed the account {resource} to sign in',
    activity: 'create',
    first: true,
    name: 'email',
    fields: () => ({ allowed: true }),
  },
  AccountDisallowed: {
    summary: 'no longer allows the account {resource} to sign in',
    activity: 'delete',
    severity: 'low',
    fields: () => ({ allowed: false }),
  },
} satisfies AuditOf<AllowedAccountEvent>;
