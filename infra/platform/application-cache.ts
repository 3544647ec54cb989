import * as Agent from '../../domain/agents/agent.ts';
import * as FailoverGraph from '../../domain/agents/failover-graph.ts';
import * as Model from '../../domain/agents/model.ts';
import * as AuditKey from '../../domain/audit/audit-key.ts';
import * as BudgetHour from '../../domain/billing/budget-hour.ts';
import * as Plan from '../../domain/billing/plan.ts';
import * as CredentialRequest from '../../domain/credentials/credential-request.ts';
import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import * as TenantGuardrails from '../../domain/guardrails/tenant-guardrails.ts';
import * as AllowedAccount from '../../domain/identity/allowed-account.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import * as SignIn from '../../domain/identity/sign-in.ts';
import * as User from '../../domain/identity/user.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import * as Mail from '../../domain/mail/mail.ts';
import * as Mailbox from '../../domain/mail/mailbox.ts';
import * as RedactionPatterns from '../../domain/redaction/redaction-patterns.ts';
import * as SkillWebhook from '../../domain/skill-calls/skill-webhook.ts';
import * as Skill from '../../domain/skills/skill.ts';
import * as SlackConfig from '../../domain/slack/slack-config.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import * as Connector from '../../domain/tools/connector.ts';
import * as Tool from '../../domain/tools/tool.ts';
import { type AggregateCache, openAggregateCache } from '../aggregates/aggregate-cache.ts';
import type { Log } from '../eventstore/event-log.ts';

/** Most requests read these without changing them, so a subscription keeps them current. */
const followed = [
  Agent,
  AllowedAccount,
  ApiKey,
  AuditKey,
  BudgetHour,
  Connector,
  CredentialRequest,
  FailoverGraph,
  Integration,
  LinkedIdentity,
  Mail,
  Mailbox,
  Model,
  Plan,
  RedactionPatterns,
  SignIn,
  Skill,
  SkillWebhook,
  SlackConfig,
  Tenant,
  TenantGuardrails,
  Tool,
  User,
];

/**
 * The cache also remembers missing ids of these: otherwise the log would be read for every sign-in token of an unknown user, every delivery
 * to a tenant without guardrails, every runtime read of an agent without accounts, and every agent without spending. Callers cannot fill
 * the cache with guessed ids: they are looked up after the token or signature is verified, or come from a read model.
 */
const cacheAbsent = [AllowedAccount, BudgetHour, LinkedIdentity, RedactionPatterns, SlackConfig, TenantGuardrails, User];

export const openApplicationCache = (log: Log): AggregateCache => openAggregateCache(log, followed, { cacheAbsent });
