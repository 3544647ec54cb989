import type { z } from 'zod';
import type { RunnerBroker } from '../../commands/runners/runner-broker.ts';
import { agents } from '../../projections/agents/agent.ts';
import { costs } from '../../projections/billing/cost.ts';
import { apikeys } from '../../projections/identity/api-key.ts';
import { runnerCredentials } from '../../projections/runners/runner-credential.ts';
import { cronJobs } from '../../projections/schedule/cron-job.ts';
import { sessions } from '../../projections/sessions/session.ts';
import { namesOf } from '../../projections/tenants/attention.queries.ts';
import { hasAcknowledged } from '../../projections/tenants/overview-figures.queries.ts';
import { deliveries } from '../../projections/webhooks/delivery.ts';
import { integrations } from '../../projections/webhooks/integration.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { readableAgents } from '../webhooks/delivery-list.ts';
import { createDeliveryStates, type DeliveryStates } from '../webhooks/delivery-states.ts';
import { heldOf } from '../webhooks/held-deliveries.ts';
import { deliveryAttention, type Found } from './attention-deliveries.ts';
import { settingsAttention } from './attention-settings.ts';
import { readFigures } from './overview-figures.ts';
import { ATTENTION_KINDS, type Attention, MAX_ATTENTION, Overview, SEVERITIES } from './overview-schema.ts';

/** Sorts by severity, then by kind, then by count: the most important first. */
const compare = (one: Found, other: Found): number =>
  SEVERITIES.indexOf(one.severity) - SEVERITIES.indexOf(other.severity) ||
  ATTENTION_KINDS.indexOf(one.kind) - ATTENTION_KINDS.indexOf(other.kind) ||
  other.count - one.count;

/** Adds the names of agents to those that have no name yet. */
const withNames = async ({ reads, tenant }: Ctx, found: readonly Found[]): Promise<Attention[]> => {
  const unnamed = found.flatMap(({ agent_id, subject }) => (subject.name === undefined && agent_id !== null ? [agent_id] : []));
  const names = await namesOf(reads, tenant, { agents: [...new Set(unnamed)], integrations: [] });
  return found.map((one) => ({ ...one, subject: { name: names.get(one.agent_id ?? '') ?? 'An agent', ...one.subject } }));
};

const readOverview = async (ctx: Ctx, broker: RunnerBroker, states: DeliveryStates): Promise<z.output<typeof Overview>> => {
  const [agent_ids, mayReadCosts] = await Promise.all([readableAgents(ctx), ctx.may('tenant:billing:read')]);
  const of = { tenant_id: ctx.tenant, agent_ids };
  const { figures, open } = await readFigures(ctx, { agent_ids, mayReadCosts });
  const held = open.length === 0 ? [] : await heldOf(ctx, of, states);
  const [ofDeliveries, ofSettings, is_started] = await Promise.all([
    deliveryAttention(ctx, { broker, agent_ids, open, held }),
    settingsAttention(ctx, held),
    agent_ids?.length === 0 ? false : hasAcknowledged(ctx.reads, of),
  ]);
  const all = [...ofDeliveries, ...ofSettings].toSorted(compare);
  const attention = await withNames(ctx, all.slice(0, MAX_ATTENTION));
  return { at: ctx.at(), figures, attention, attention_count: all.length, is_started };
};

/** Creates the operation that sums up a tenant. `broker` knows which runners are connected. */
export const overviewOperationOf = (broker: RunnerBroker, states = createDeliveryStates(broker)) => ({
  readOverview: operation({
    method: 'get',
    path: '/tenant/:tenant_id/overview',
    summary: 'Sum up the last 24 hours',
    details:
      'The figures of the last 24 hours, and what needs attention. Budgets are read of at most 100 agents, and runners of the 20 agents with the longest queues. While the message broker does not answer, no runner counts as missing.',
    permit: 'tenant:read',
    permissionNote:
      'Requires the permission `tenant:read`. Counts the deliveries of the agents on which the caller has `agent:chat:read`; with `tenant:integrations:read`, all. Costs require `tenant:billing:read`, and what is about integrations, API keys, cron jobs and approvals the permission to list them.',
    reply: Overview,
    projection: deliveries.name,
    otherProjections: [agents, integrations, cronJobs, apikeys, costs, runnerCredentials, sessions].map(({ name }) => name),
    noETag: true,
    run: async (ctx) => ({ doc: JSON.stringify(Overview.parse(await readOverview(ctx, broker, states))), revision: null }),
  }),
});
