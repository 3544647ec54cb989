import { z } from 'zod';
import * as ReplayJob from '../../domain/deliveries/replay-job.ts';
import { displayText, Instant, InstantText } from '../../domain/fields.ts';
import { Id25 } from '../../domain/id.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import { invalid } from '../../domain/refusal.ts';
import { checkOnce } from '../check-once.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { checkAgent } from './redeliver.ts';

const MAX_IDS = 1_000;

export const ReplayRequest = z
  .strictObject({
    from: InstantText.meta({ description: 'Only deliveries at or after this time', examples: ['2026-11-21T10:00:00Z'] }),
    to: InstantText.meta({ description: 'Only deliveries before this time', examples: ['2026-11-21T11:00:00Z'] }),
    outcome: z
      .enum(['accepted', 'dead'])
      .nullish()
      .meta({ description: 'Only deliveries with this outcome. Blocked and rejected ones are not for a runner', examples: ['dead'] }),
    event: displayText(1, 128)
      .nullish()
      .meta({ description: "Only deliveries with this event, by the provider's name of it", examples: ['push'] }),
    ids: z
      .array(Id25)
      .min(1)
      .max(MAX_IDS)
      .nullish()
      .meta({ description: 'Only deliveries with these ids', examples: [null] }),
    agent_id: Id25.nullish().meta({
      description: 'The agent that gets the deliveries; absent: the agent that got each of them first',
      examples: [null],
    }),
    dry_run: z.boolean().default(false).meta({ description: 'Only count the deliveries: nothing is recorded or sent' }),
  })
  .meta({ id: 'ReplayRequest', examples: [{ from: '2026-11-21T10:00:00Z', to: '2026-11-21T11:00:00Z', outcome: 'dead' }] });

/** `limit`: the maximum number of selected deliveries. */
export type ReplayFilter = {
  readonly integration_id: string;
  readonly from: string;
  readonly to: string;
  readonly outcome: string | undefined;
  readonly event: string | undefined;
  readonly ids: readonly string[] | undefined;
  readonly limit: number;
};

/** Finds the deliveries that can be sent to a runner, in the order of their receipt. */
export type FindReplayable = (filter: ReplayFilter) => Promise<string[]>;

export type JobView = {
  id: string;
  kind: 'deliveries_replay';
  status: ReplayJob.ReplayJob['status'];
  done: number;
  total: number;
  error: string | null;
  target_agent_id: string | null;
  per_second: number | null;
  created_at: string;
  finished_at: string | null;
};

/** What a job would do. */
export type DryRunView = Omit<JobView, 'id' | 'status'> & { id: null; status: 'dry_run' };

export const viewOf = ({ id, state, ...loaded }: Loaded<ReplayJob.ReplayJob>): Loaded<JobView> => {
  const { status, done, ids, error, created_at, finished_at, agent_id: target_agent_id, per_second = null } = state;
  const target = { target_agent_id, per_second };
  const view: JobView = { id, kind: 'deliveries_replay', status, done, total: ids.length, error, ...target, created_at, finished_at };
  return { ...loaded, id, state: view };
};

/** Like a job, but not stored. */
export const dryRun = (total: number, at: string, target: Pick<JobView, 'target_agent_id' | 'per_second'>): Loaded<DryRunView> => {
  const view: DryRunView = {
    id: null,
    kind: 'deliveries_replay',
    status: 'dry_run',
    done: 0,
    total,
    error: null,
    ...target,
    created_at: at,
    finished_at: at,
  };
  return { id: '', revision: -1, position: null, state: view };
};

/** @throws Refusal invalid if they are too many for one job */
export const assertNotTooMany = ({ length }: readonly string[]): void => {
  if (length > ReplayJob.MAX_REPLAYED)
    throw invalid('/from', `selects more than ${ReplayJob.MAX_REPLAYED} deliveries: choose a shorter time`, 'too_many');
};

/** Sends the deliveries to runners. With `dry_run`, only counts them. @throws Refusal not_found, invalid, conflict, unavailable */
export const requestReplay = async (
  ctx: Ctx,
  { tenant_id, id: integration_id, dry_run, ...input }: Input<typeof ReplayRequest, 'tenant_id' | 'id'>,
  find: FindReplayable,
): Promise<Loaded<JobView | DryRunView>> => {
  const { state } = await ctx.load(Integration, integration_id);
  Integration.assertConnected(state, tenant_id);
  const [from, to] = [new Date(Instant.parse(input.from)).toISOString(), new Date(Instant.parse(input.to)).toISOString()];
  if (from >= to) throw invalid('/to', 'must be later than from');
  const agent_id = input.agent_id ?? null;
  if (agent_id) await checkOnce(ctx, () => checkAgent(ctx, agent_id));
  const { outcome, event } = input;
  const filter = { integration_id, from, to, outcome: outcome ?? undefined, event: event ?? undefined, ids: input.ids ?? undefined };
  const ids = await ctx.sideEffect(() => find({ ...filter, limit: ReplayJob.MAX_REPLAYED + 1 }));
  assertNotTooMany(ids);
  if (dry_run) return dryRun(ids.length, ctx.at(), { target_agent_id: agent_id, per_second: null });
  const selection = { integration_id, from, to, outcome: outcome ?? null, event: event ?? null, agent_id, ids };
  return viewOf(await ctx.transact(ReplayJob, ctx.newId(), ReplayJob.request(selection), { expectNew: true }));
};

/** @throws Refusal not_found, conflict */
export const cancelReplay = async (ctx: Ctx, { id }: { id: string }): Promise<Loaded<JobView>> =>
  viewOf(await ctx.transact(ReplayJob, id, ReplayJob.cancel));
