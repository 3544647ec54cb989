import { reportOpener } from '../../commands/runners/report-attempt.ts';
import type { RunnerBroker } from '../../commands/runners/runner-broker.ts';
import { lastFailures } from '../../projections/deliveries/delivery-list.queries.ts';
import type { HeldDeliveries } from '../../projections/deliveries/held-groups.queries.ts';
import { unexpiredKeysOf } from '../../projections/runners/runner-credential.queries.ts';
import { blockedSince, failingAgents, givenUpSince, namesOf, stoppedDeliveries } from '../../projections/tenants/attention.queries.ts';
import type { OpenCount } from '../../projections/tenants/overview-figures.queries.ts';
import { earlier } from '../deliveries/held-deliveries.ts';
import { futureUntil, whyWords } from '../deliveries/held-words.ts';
import type { Ctx } from '../http/operation.ts';
import { isRunnerConnected } from '../runners/connected-runner.ts';
import { before } from './overview-figures.ts';
import type { Attention } from './overview-schema.ts';

const DAY_MS = 86_400_000;
/** The days before the last one, from which the usual number of blocked deliveries per day is computed. */
const USUAL_DAYS = 7;
/** For `deliveries_blocked`: the minimum number in a day, and the factor by which it must exceed the usual number per day. */
const [MIN_BLOCKED, UNUSUAL_TIMES] = [10, 3];
/** The minimum number of an agent's deliveries that have failed and will be tried again for `runner_failing`. */
const MIN_FAILING = 3;
/** The minimum time in milliseconds that a delivery has waited for `runner_missing`. In less time, a runner may be restarting. */
const MIN_WAIT_MS = 60_000;
/** The maximum number of agents for which the broker is asked: those with the longest queues. */
const MAX_QUEUES = 20;
/** The time to wait for the broker. */
const ANSWER_TIMEOUT_MS = 500;

/** Something that needs attention. A subject without a name gets that of the agent `agent_id`. */
export type Found = Omit<Attention, 'subject'> & {
  readonly subject: Omit<Attention['subject'], 'name'> & { readonly name?: string };
};

export const NO_DETAILS = { agent_id: null, reason: null, code: null, problem: null, until: null, example_id: null } as const;

/** Something that needs attention at an agent. */
export const atAgent = (
  agent_id: string,
  found: Pick<Found, 'kind' | 'severity' | 'count' | 'since'> & Partial<Omit<Found, 'subject' | 'agent_id'>>,
): Found => ({ ...NO_DETAILS, ...found, agent_id, subject: { type: 'agent', id: agent_id } });

/** The agents whose deliveries the caller may read; undefined for all agents. */
type Readable = readonly string[] | undefined;

/** Returns the reasons of failures in the words of runners, by the ids of the deliveries. */
const wordsOf = async (ctx: Ctx, ids: readonly string[]): Promise<(id: string) => string | null> => {
  const failures = await lastFailures(ctx.reads, { tenant_id: ctx.tenant, ids }, reportOpener(ctx));
  return (id) => failures.get(id)?.reason ?? null;
};

const deadDeliveries = async (ctx: Ctx, agent_ids: Readable): Promise<Found[]> => {
  const groups = await givenUpSince(ctx.reads, { tenant_id: ctx.tenant, agent_ids, given_up_from: before(ctx.at(), DAY_MS) });
  const words = await wordsOf(
    ctx,
    groups.map(({ example_id }) => example_id),
  );
  return groups.map(({ agent_id, reason: code, problem, count, since, example_id }) =>
    atAgent(agent_id!, {
      ...{ kind: 'deliveries_dead', severity: 'error', count, since, code, problem, example_id },
      reason: words(example_id) ?? code?.replaceAll('_', ' ') ?? null,
    }),
  );
};

const blockedDeliveries = async (ctx: Ctx, agent_ids: Readable): Promise<Found[]> => {
  const { reads, tenant: tenant_id } = ctx;
  const dayAgo = before(ctx.at(), DAY_MS);
  const period = { from: before(dayAgo, USUAL_DAYS * DAY_MS), before: dayAgo, at_least: MIN_BLOCKED };
  const groups = (await blockedSince(reads, { tenant_id, agent_ids, ...period })).filter(
    ({ count, earlier }) => count > (UNUSUAL_TIMES * earlier) / USUAL_DAYS,
  );
  if (groups.length === 0) return [];
  const [labels, stopped] = await Promise.all([
    namesOf(reads, tenant_id, { agents: [], integrations: groups.map(({ integration_id }) => integration_id!) }),
    stoppedDeliveries(
      reads,
      tenant_id,
      groups.map(({ example_id }) => example_id),
    ),
  ]);
  return groups.map(({ agent_id, integration_id, reason: code, count, since, example_id }) => {
    const why = stopped.get(example_id) ?? { reason: code ?? '', rule: null, note: null };
    const found = atAgent(agent_id!, {
      ...{ kind: 'deliveries_blocked', severity: 'warning', count, since, code, example_id },
      reason: whyWords(why),
    });
    const name = labels.get(integration_id!);
    return name === undefined ? found : { ...found, subject: { type: 'integration', id: integration_id!, name } };
  });
};

const failingRunners = async (ctx: Ctx, agent_ids: Readable): Promise<Found[]> => {
  const groups = await failingAgents(ctx.reads, { tenant_id: ctx.tenant, agent_ids, at_least: MIN_FAILING });
  const words = await wordsOf(
    ctx,
    groups.map(({ example_id }) => example_id),
  );
  return groups.map(({ agent_id, count, since, example_id }) =>
    atAgent(agent_id!, { kind: 'runner_failing', severity: 'warning', count, since, example_id, reason: words(example_id) }),
  );
};

/** Sums up the deliveries that rules hold, by agent: why the oldest waits, and when the first can continue. */
const heldDeliveries = (groups: readonly HeldDeliveries[], at: string): Found[] =>
  [...Map.groupBy(groups, ({ agent_id }) => agent_id)].map(([agent_id, held]) => {
    const [{ since, example_id, ...why }] = held as [HeldDeliveries];
    const until = held.map((one) => futureUntil(one.until, Date.parse(at))).reduce(earlier, null);
    const count = held.reduce((sum, one) => sum + one.count, 0);
    const kind = { kind: 'deliveries_held', severity: 'info' } as const;
    return atAgent(agent_id, { ...kind, count, since, until, example_id, reason: whyWords(why) });
  });

type Queue = { readonly agent_id: string; readonly count: number; readonly since: string };

/** Returns the agents whose deliveries wait for a runner, with the longest queues first. */
const queuesOf = (open: readonly OpenCount[], agent_ids: Readable, at: string): Queue[] =>
  [...Map.groupBy(open, ({ runner_of }) => runner_of)]
    .map(([agent_id, counts]) => {
      const waiting = counts.filter(({ is_held }) => !is_held);
      const since = waiting.reduce((first, { oldest_at }) => (oldest_at < first ? oldest_at : first), at);
      return { agent_id, since, count: waiting.reduce((sum, { count }) => sum + count, 0) };
    })
    .filter(({ agent_id, since }) => since <= before(at, MIN_WAIT_MS) && (agent_ids?.includes(agent_id) ?? true))
    .toSorted((one, other) => other.count - one.count || (one.agent_id < other.agent_id ? -1 : 1))
    .slice(0, MAX_QUEUES);

/** Returns whether a runner of an agent is connected. While the broker does not answer, none counts as missing. */
const isConnected = async (broker: RunnerBroker, keys: readonly string[]): Promise<boolean> => {
  const late = new Promise<boolean>((resolve) => void setTimeout(resolve, ANSWER_TIMEOUT_MS, true).unref());
  return Promise.race([isRunnerConnected(broker, keys).catch(() => true), late]);
};

const missingRunners = async (ctx: Ctx, broker: RunnerBroker, queues: readonly Queue[]): Promise<Found[]> => {
  const agents = queues.map(({ agent_id }) => agent_id);
  const keys = await unexpiredKeysOf(ctx.reads, { tenant_id: ctx.tenant, agent_ids: agents, at: ctx.at() });
  const connected = await Promise.all(agents.map((agent_id) => isConnected(broker, keys.get(agent_id) ?? [])));
  return queues
    .filter((_, n) => !connected[n])
    .map(({ agent_id, count, since }) => atAgent(agent_id, { kind: 'runner_missing', severity: 'warning', count, since }));
};

type Deliveries = {
  readonly broker: RunnerBroker;
  readonly agent_ids: Readable;
  readonly open: readonly OpenCount[];
  readonly held: readonly HeldDeliveries[];
};

/**
 * Returns what needs attention about deliveries that the caller may read. `open` are the unfinished ones, and `held` those of
 * them that something holds.
 */
export const deliveryAttention = async (ctx: Ctx, { broker, agent_ids, open, held }: Deliveries): Promise<Found[]> => {
  if (agent_ids?.length === 0) return [];
  const found = await Promise.all([
    deadDeliveries(ctx, agent_ids),
    blockedDeliveries(ctx, agent_ids),
    failingRunners(ctx, agent_ids),
    heldDeliveries(
      held.filter(({ reason }) => reason !== 'budget'),
      ctx.at(),
    ),
    missingRunners(ctx, broker, queuesOf(open, agent_ids, ctx.at())),
  ]);
  return found.flat();
};
