import type { LinkedIdentityEvent } from '../../domain/credentials/linked-identity.ts';
import { omit } from '../../domain/omit.ts';
import { type AuditOf, SECRET } from '../audit-record.ts';

export const linkedIdentityAudit = {
  DatabaseCredentialStored: {
    summary: 'stored the database credential {resource}',
    activity: 'create',
    severity: 'low',
    fields: (fields) => ({ ...omit(fields, 'sealed_password'), connected: true, secret: SECRET }),
  },
  IdentityLinked: {
    summary: 'connected the account {resource}',
    activity: 'update',
    severity: 'low',
    fields: (fields) => ({ ...omit(fields, 'sealed_tokens'), connected: true, secret: SECRET }),
  },
  IdentityTokensRefreshed: {
    summary: 'renewed the tokens of the account {resource}',
    activity: 'update',
    fields: (fields) => ({ ...omit(fields, 'sealed_tokens'), connected: true, secret: SECRET }),
  },
  IdentityResealed: { summary: 'encrypted the secret of the account {resource} with a new data key', activity: 'update' },
  IdentityRefreshRefused: {
    summary: 'was refused new tokens of the account {resource}: {error}',
    activity: 'other',
    refused: true,
    fields: () => ({ connected: false }),
  },
  IdentityRefreshFailed: { summary: 'could not renew the tokens of the account {resource}: {error}', activity: 'update' },
  IdentityUnlinked: {
    summary: 'unlinked the account {resource}',
    activity: 'delete',
    severity: 'low',
    fields: () => ({ connected: false }),
  },
  IdentityTokensRevoked: { summary: 'asked the provider to revoke the tokens of the account {resource}: {outcome}', activity: 'delete' },
} satisfies AuditOf<LinkedIdentityEvent>;
