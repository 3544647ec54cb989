import * as Agent from '../../domain/agents/agent.ts';
import * as ReplayJob from '../../domain/deliveries/replay-job.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import { invalid } from '../../domain/refusal.ts';
import { checkOnce } from '../check-once.ts';
import type { Ctx, Loaded } from '../context.ts';
import { checkAgent } from './redeliver.ts';
import { assertNotTooMany, type DryRunView, dryRun, type JobView, viewOf } from './replay-deliveries.ts';

/** `agent_id`: the agent whose deliveries they are. */
export type TenantCriteria = {
  readonly integration_id?: string | undefined;
  readonly agent_id?: string | undefined;
  readonly provider?: string | undefined;
  readonly event?: string | undefined;
  readonly provider_delivery_id?: string | undefined;
  readonly reason?: string | undefined;
  readonly rule?: string | undefined;
  readonly problem?: string | undefined;
  readonly matched_secret?: 'current' | 'previous' | undefined;
  readonly outcome?: 'accepted' | 'dead' | 'blocked' | undefined;
  readonly status?: 'waiting' | 'queued' | 'running' | 'held' | 'done' | 'dead' | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly given_up_from?: string | undefined;
};

/** `target_agent_id` gets all deliveries; without it, each goes to its addressee. `release_reason`: why blocked ones are released. */
type TenantReplay = TenantCriteria & {
  readonly tenant_id: string;
  readonly target_agent_id?: string | undefined;
  readonly per_second?: number | undefined;
  readonly release_reason?: string | undefined;
  readonly dry_run: boolean;
};

/** At most `limit` that can be sent to a runner or, with the outcome `blocked`, released; in the order of their receipt. */
export type FindDeliveries = (criteria: TenantCriteria, limit: number) => Promise<string[]>;

/**
 * Agent and origin (a webhook integration, or anything else with deliveries, such as a cron job) must exist; they may be deleted.
 * @throws Refusal invalid
 */
const checkCriteria = async (ctx: Ctx, { agent_id, integration_id }: TenantCriteria, find: FindDeliveries): Promise<void> => {
  if (agent_id !== undefined && (await ctx.load(Agent, agent_id)).state.status === 'absent')
    throw invalid('/agent_id', 'there is no such agent', 'unknown_agent');
  if (integration_id === undefined) return;
  const { state } = await ctx.load(Integration, integration_id);
  if (state.status !== 'absent' && state.tenant_id === ctx.tenant) return;
  if ((await find({ integration_id }, 1)).length === 0)
    throw invalid('/integration_id', 'there is no such integration, and nothing else with this id has deliveries', 'unknown_integration');
};

/** Returns the criteria as the event contains them: without those that were not given. */
const recordedCriteria = ({ provider, reason, rule, problem, ...given }: TenantCriteria) => ({
  ...(provider !== undefined && { provider }),
  ...(reason !== undefined && { reason }),
  ...(rule !== undefined && { rule }),
  ...(problem !== undefined && { problem }),
  ...(given.provider_delivery_id !== undefined && { provider_delivery_id: given.provider_delivery_id }),
  ...(given.matched_secret !== undefined && { matched_secret: given.matched_secret }),
  ...(given.status !== undefined && { delivery_status: given.status }),
  ...(given.agent_id !== undefined && { source_agent_id: given.agent_id }),
  ...(given.given_up_from !== undefined && { given_up_from: given.given_up_from }),
});

/**
 * For blocked deliveries, requires a reason and the permission to assign work to the target; refuses a reason in any other request.
 * @throws Refusal invalid, forbidden
 */
const checkRelease = async (ctx: Ctx, { outcome, release_reason, target_agent_id, dry_run }: TenantReplay): Promise<void> => {
  if (outcome !== 'blocked' && release_reason !== undefined)
    throw invalid('/release_reason', 'is only for the outcome `blocked`, whose deliveries are released');
  if (outcome !== 'blocked') return;
  if (release_reason === undefined && !dry_run)
    throw invalid('/release_reason', 'is missing: say why the blocked deliveries are released', 'missing');
  if (target_agent_id !== undefined) await ctx.require('agent:assign', target_agent_id);
};

const earlier = (one: string, other: string): string => (one < other ? one : other);

/**
 * Sends or releases all deliveries that match all criteria and were received before the request; with `dry_run`, only counts them.
 * @throws Refusal invalid, conflict, unavailable
 */
export const requestTenantReplay = async (ctx: Ctx, request: TenantReplay, find: FindDeliveries): Promise<Loaded<DryRunView | JobView>> => {
  const { tenant_id: _, target_agent_id, per_second, dry_run, release_reason, ...given } = request;
  if (target_agent_id !== undefined) await checkOnce(ctx, () => checkAgent(ctx, target_agent_id, '/target_agent_id'));
  await checkRelease(ctx, request);
  await checkOnce(ctx, () => checkCriteria(ctx, given, find));
  const { to, ids } = await ctx.sideEffect(async () => {
    const end = earlier(given.to ?? ctx.at(), ctx.at());
    if (given.from !== undefined && given.from >= end) throw invalid('/to', 'must be later than from, and from must be in the past');
    return { to: end, ids: await find({ ...given, to: end }, ReplayJob.MAX_REPLAYED + 1) };
  });
  assertNotTooMany(ids);
  const target = { target_agent_id: target_agent_id ?? null, per_second: per_second ?? null };
  if (dry_run) return dryRun(ids.length, ctx.at(), target);
  const { integration_id = null, from = null, outcome = null, event = null } = given;
  const pace = per_second === undefined ? {} : { per_second };
  const selection = {
    ...recordedCriteria(given),
    integration_id,
    from,
    to,
    outcome,
    event,
    agent_id: target_agent_id ?? null,
    ...pace,
    ...(release_reason !== undefined && { release_reason }),
    ids,
  };
  return viewOf(await ctx.transact(ReplayJob, ctx.newId(), ReplayJob.request(selection), { expectNew: true }));
};
