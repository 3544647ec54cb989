import type { SignInLinkEvent } from '../../domain/identity/sign-in-link.ts';
import type { AuditOf } from '../audit-record.ts';

export const signInLinkAudit = {
  SignInLinkIssued: { summary: 'issued a sign-in link', activity: 'create' },
  SignInLinkUsed: { summary: 'used a sign-in link', activity: 'read' },
} satisfies AuditOf<SignInLinkEvent>;
