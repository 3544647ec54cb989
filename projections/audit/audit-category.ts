import { AUDIT_RECORDS } from '../audit-records.ts';
import { actionOf } from './audit-entry.ts';

/** What an action is about, as people look for it in an audit log. */
export const AUDIT_CATEGORIES = ['agents', 'access', 'members', 'secrets', 'integrations', 'deliveries', 'schedules', 'money'] as const;
export type AuditCategory = (typeof AUDIT_CATEGORIES)[number];

/** The starts of the actions of each category. The longest start that matches an action decides. */
const STARTS: Readonly<Record<AuditCategory, readonly string[]>> = {
  agents: [
    ...['agent.', 'approval.', 'benchmark.', 'failover.', 'file.', 'listing.', 'memory.', 'message.', 'model.', 'runtime.', 'session.'],
    ...['skill.', 'tool.', 'usage.'],
  ],
  access: [
    ...['access.', 'account.', 'agent.access_', 'agent.admin_only_', 'agent.ownership_', 'agent.role_', 'audit.', 'sign.', 'signed.'],
    ...['super_admin.', 'user.'],
  ],
  members: ['member.'],
  secrets: [
    ...['agent.credential_', 'agent.skill_config_', 'api_key.', 'credential.', 'cron.job_headers_', 'data_key.', 'database.', 'identity.'],
    ...['integration.previous_secret_', 'integration.secret_', 'master_key.', 'runner_credential.', 'skill_config.'],
    'skill_webhook.token_',
  ],
  integrations: ['agent.slack_config_', 'connector.', 'guardrails.', 'integration.', 'mailbox.', 'redaction.', 'skill_webhook.'],
  deliveries: [
    ...['benchmark.run_triggered', 'cron.job_triggered', 'deliveries.', 'delivery.', 'held.', 'mail.', 'session.messages_settled'],
    ...['skill_webhook.blocked', 'skill_webhook.called', 'skill_webhook.held', 'skill_webhook.refus', 'webhook.'],
  ],
  schedules: ['blackout.', 'cron.'],
  money: ['agent.budget_', 'billing.', 'budget.', 'checkout.', 'payment.', 'plan.', 'seller.', 'tenant.plan_'],
};

const BY_START = AUDIT_CATEGORIES.flatMap((category) => STARTS[category].map((start) => ({ category, start }))).toSorted(
  (one, other) => other.start.length - one.start.length,
);

/** Returns the category of an action; null for those that are about the tenant or the platform as a whole. */
export const categoryOf = (action: string): AuditCategory | null =>
  BY_START.find(({ start }) => action.startsWith(start))?.category ?? null;

const ACTIONS = [...AUDIT_RECORDS.keys()].map(actionOf);

export const actionsOf = (category: AuditCategory): readonly string[] => ACTIONS.filter((action) => categoryOf(action) === category);
