import type { TenantGuardrailsEvent } from '../../domain/guardrails/tenant-guardrails.ts';
import type { AuditOf } from '../audit-record.ts';

export const tenantGuardrailsAudit = {
  GuardrailsReplaced: { summary: 'replaced the guardrail rules of {resource}', activity: 'update' },
} satisfies AuditOf<TenantGuardrailsEvent>;
