import type { IdentityLinkEvent } from '../../domain/credentials/identity-link.ts';
import type { AuditOf } from '../audit-record.ts';

export const identityLinkAudit = {
  IdentityLinkStarted: { summary: 'started to connect an account at {provider}', activity: 'other' },
  IdentityLinkAnswered: { summary: 'returned from {provider}, where an account was to be connected', activity: 'update' },
} satisfies AuditOf<IdentityLinkEvent>;
