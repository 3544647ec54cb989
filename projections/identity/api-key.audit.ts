import type { ApiKeyEvent } from '../../domain/identity/api-key.ts';
import type { AuditOf } from '../audit-record.ts';

export const apiKeyAudit = {
  ApiKeyCreated: {
    summary: 'created the API key {resource}',
    activity: 'create',
    severity: 'low',
    first: true,
    fields: ({ owner_id, agent_id }) => ({ owner_id, agent_id, revoked: false }),
  },
  ApiKeyRenamed: { summary: 'renamed the API key {resource}', activity: 'update', severity: 'low' },
  ApiKeyRevoked: { summary: 'revoked the API key {resource}', activity: 'delete', severity: 'low', fields: () => ({ revoked: true }) },
  ApiKeyUsed: {
    summary: 'used the API key {resource}',
    summaryForPlatform: 'recorded that the API key {resource} is in use',
    activity: 'read',
  },
} satisfies AuditOf<ApiKeyEvent>;
