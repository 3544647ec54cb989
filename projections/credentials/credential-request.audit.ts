import type { CredentialRequestEvent } from '../../domain/credentials/credential-request.ts';
import type { AuditOf } from '../audit-record.ts';

export const credentialRequestAudit = {
  CredentialRequested: { summary: 'asked for the credential {config_key} of the skill {skill}', activity: 'create' },
  CredentialSubmitted: { summary: 'submitted the credential {config_key} of the skill {skill}', activity: 'update', severity: 'low' },
} satisfies AuditOf<CredentialRequestEvent>;
