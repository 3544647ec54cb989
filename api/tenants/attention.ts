import type { RunnerBroker } from '../../commands/runners/runner-broker.ts';
import { agents } from '../../projections/agents/agent.ts';
import { costs } from '../../projections/billing/cost.ts';
import { deliveries } from '../../projections/deliveries/delivery.ts';
import { apikeys } from '../../projections/identity/api-key.ts';
import { integrations } from '../../projections/integrations/integration.ts';
import { runnerCredentials } from '../../projections/runners/runner-credential.ts';
import { cronJobs } from '../../projections/schedule/cron-job.ts';
import { sessions } from '../../projections/sessions/session.ts';
import { type OpenCount, openCounts } from '../../projections/tenants/overview-figures.queries.ts';
import { readableAgents, visibleAgents } from '../agents/readable-agents.ts';
import type { DeliveryStates } from '../deliveries/delivery-states.ts';
import { heldOf } from '../deliveries/held-deliveries.ts';
import type { Ctx } from '../http/operation.ts';
import { reuse } from '../http/reuse.ts';
import { deliveryAttention, type Found } from './attention-deliveries.ts';
import { settingsAttention } from './attention-settings.ts';
import { ATTENTION_KINDS, SEVERITIES } from './overview-schema.ts';

/** The projections from which figures, and what needs attention, are read. */
export const ATTENTION_PROJECTIONS = [deliveries, agents, integrations, cronJobs, apikeys, costs, runnerCredentials, sessions].map(
  ({ name }) => name,
);

/** The sources that know which runners are connected, and what they have received. */
export type Runners = { readonly broker: RunnerBroker; readonly states: DeliveryStates };

/** Sorts by severity, then by kind, then by count: the most important first. */
const compare = (one: Found, other: Found): number =>
  SEVERITIES.indexOf(one.severity) - SEVERITIES.indexOf(other.severity) ||
  ATTENTION_KINDS.indexOf(one.kind) - ATTENTION_KINDS.indexOf(other.kind) ||
  other.count - one.count;

/** The unfinished deliveries that the caller may read: those of these agents, or of all. */
type Open = { readonly agent_ids: readonly string[] | undefined; readonly open: readonly OpenCount[] };

/** Returns everything that needs attention and that the caller may see, the most severe first. */
export const findAttention = async (ctx: Ctx, { broker, states }: Runners, { agent_ids, open }: Open): Promise<Found[]> => {
  const held = open.length === 0 ? [] : await heldOf(ctx, { tenant_id: ctx.tenant, agent_ids }, states);
  const visible = await visibleAgents(ctx);
  const found = await Promise.all([deliveryAttention(ctx, { broker, agent_ids, open, held }), settingsAttention(ctx, held)]);
  // A delivery that the caller may read can have been sent again to an agent that the caller may not see.
  const isKnown = ({ agent_id }: Found): boolean =>
    agent_id === null || [agent_ids, visible].some((ids) => ids === undefined || ids.includes(agent_id));
  return found.flat().filter(isKnown).toSorted(compare);
};

/** How long the agents that need attention are reused, in seconds. */
export const REUSED_SECONDS = 5;
const MAX_CALLERS = 1_000;
const reused = reuse<readonly string[]>(REUSED_SECONDS * 1_000, MAX_CALLERS);

/** Returns the ids of the agents that have an error or a warning which the caller may see, as it was REUSED_SECONDS ago at most. */
export const agentsInNeed = async (ctx: Ctx, runners: Runners): Promise<readonly string[]> => {
  const [agent_ids, visible] = await Promise.all([readableAgents(ctx), visibleAgents(ctx)]);
  // A role on an agent that is given or taken away counts at once.
  return reused(ctx, JSON.stringify([ctx.tenant, ctx.principal, agent_ids ?? null, visible ?? null]), async () => {
    const of = { tenant_id: ctx.tenant, agent_ids };
    const open = agent_ids?.length === 0 ? [] : await openCounts(ctx.reads, { ...of, since: ctx.at() });
    const found = await findAttention(ctx, runners, { agent_ids, open });
    return [...new Set(found.flatMap(({ agent_id, severity }) => (agent_id === null || severity === 'info' ? [] : [agent_id])))];
  });
};
