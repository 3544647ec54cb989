import type { SlackConfigEvent } from '../../domain/slack/slack-config.ts';
import type { AuditOf } from '../audit-record.ts';

export const slackConfigAudit = {
  AgentSlackConfigChanged: { summary: 'changed the Slack settings of the agent {resource}', activity: 'update' },
} satisfies AuditOf<SlackConfigEvent>;
