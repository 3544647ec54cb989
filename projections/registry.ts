import { agents } from './agents/agent.ts';
import { models } from './agents/model.ts';
import { auditHeads } from './audit/audit-head.ts';
import { audit } from './audit/audit-log.ts';
import { benchmarks } from './benchmarks/benchmark.ts';
import { benchmarkRuns } from './benchmarks/benchmark-run.ts';
import { costs } from './billing/cost.ts';
import { plans } from './billing/plan.ts';
import { credentialRequests } from './credentials/credential-request.ts';
import { linkedIdentities } from './credentials/linked-identity.ts';
import { deliveries } from './deliveries/delivery.ts';
import { replays } from './deliveries/replay-job.ts';
import { allowedAccounts } from './identity/allowed-account.ts';
import { apikeys } from './identity/api-key.ts';
import { signIns } from './identity/sign-in.ts';
import { users } from './identity/user.ts';
import { integrations } from './integrations/integration.ts';
import { mailboxes } from './mail/mailbox.ts';
import { messages } from './mail/message.ts';
import { listings } from './marketplace/listing.ts';
import { memoryImports } from './memory/memory-import.ts';
import type { AnyProjection } from './projection.ts';
import { runnerCredentials } from './runners/runner-credential.ts';
import { blackouts } from './schedule/blackout.ts';
import { cronJobs } from './schedule/cron-job.ts';
import { sessions } from './sessions/session.ts';
import { invocations } from './skill-calls/invocation.ts';
import { skills } from './skills/skill.ts';
import { tenants } from './tenants/tenant.ts';
import { tools } from './tools/tool.ts';

/** All projections. The worker process keeps them up to date. */
export const projections = [
  agents,
  allowedAccounts,
  apikeys,
  audit,
  auditHeads,
  benchmarkRuns,
  benchmarks,
  blackouts,
  credentialRequests,
  costs,
  cronJobs,
  deliveries,
  integrations,
  invocations,
  linkedIdentities,
  listings,
  mailboxes,
  memoryImports,
  messages,
  models,
  plans,
  replays,
  runnerCredentials,
  sessions,
  signIns,
  skills,
  tenants,
  tools,
  users,
] as const satisfies readonly AnyProjection[];
