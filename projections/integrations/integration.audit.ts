import type { IntegrationEvent } from '../../domain/integrations/integration.ts';
import { omit } from '../../domain/omit.ts';
import { type AuditOf, allFields, SECRET } from '../audit-record.ts';
import { tenantGuardrailsAudit } from '../guardrails/tenant-guardrails.audit.ts';

export const integrationAudit = {
  IntegrationConnected: {
    summary: 'connected the {provider} integration {resource}',
    activity: 'create',
    first: true,
    fields: (fields) => ({ ...omit(fields, 'sealed_secret', 'tenant_id'), is_paused: false, connected: true }),
  },
  IntegrationUpdated: { summary: 'changed {fields} of the integration {resource}', activity: 'update', fields: allFields },
  IntegrationSecretRotated: {
    summary: 'rotated the secret of the integration {resource}',
    activity: 'update',
    severity: 'low',
    fields: (fields) => ({ ...omit(fields, 'sealed_secret'), secret: SECRET }),
  },
  IntegrationSecretResealed: { summary: 'encrypted the secret of the integration {resource} with a new data key', activity: 'update' },
  IntegrationPreviousSecretDropped: {
    summary: 'dropped the previous secret of the integration {resource}',
    activity: 'update',
    severity: 'low',
    fields: () => ({ previous_secret_valid_until: null }),
  },
  GuardrailsReplaced: tenantGuardrailsAudit.GuardrailsReplaced,
  IntegrationDisconnected: {
    summary: 'disconnected the integration {resource}',
    activity: 'delete',
    severity: 'low',
    fields: () => ({ connected: false }),
  },
} satisfies AuditOf<IntegrationEvent>;
