import type { SkillRefusalEvent } from '../../domain/skill-calls/skill-refusal.ts';
import type { AuditOf } from '../audit-record.ts';

export const skillRefusalAudit = {
  SkillWebhookRefused: { summary: 'refused calls for the agent {agent}', activity: 'other', severity: 'low', refused: true },
  SkillWebhookRefusalsCounted: { summary: 'counted {count} further refused calls for the agent {agent}', activity: 'other', refused: true },
} satisfies AuditOf<SkillRefusalEvent>;
