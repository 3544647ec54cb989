import type { SignInEvent } from '../../domain/identity/sign-in.ts';
import type { AuditOf } from '../audit-record.ts';

export const signInAudit = {
  SignedIn: { summary: 'signed in', activity: 'logon' },
  SignInSeen: {
    summary: 'used the sign-in of a browser',
    summaryForPlatform: 'recorded that the sign-in of a browser is in use',
    activity: 'read',
  },
  SignedOut: { summary: 'signed out', activity: 'logoff' },
} satisfies AuditOf<SignInEvent>;
