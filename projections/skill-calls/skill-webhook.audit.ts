import type { SkillWebhookEvent } from '../../domain/skill-calls/skill-webhook.ts';
import type { AuditOf } from '../audit-record.ts';

export const skillWebhookAudit = {
  SkillWebhookExposed: { summary: 'exposed the skill {resource} for the agent {agent}', activity: 'create', severity: 'low' },
  SkillWebhookTokenRotated: { summary: 'rotated the webhook token of the skill {resource}', activity: 'update', severity: 'low' },
  SkillWebhookHidden: { summary: 'hid the skill {resource}: {reason}', activity: 'delete' },
} satisfies AuditOf<SkillWebhookEvent>;
