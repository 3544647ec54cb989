import { spentBudgets } from '../../api/deliveries/delivery-states.ts';
import { isRunnerConnected } from '../../api/runners/connected-runner.ts';
import { withinTime } from '../../commands/within-time.ts';
import { counted } from '../../domain/counted.ts';
import { type OpenQueue, openQueuesOfAllTenants } from '../../projections/deliveries/open-deliveries.queries.ts';
import { unexpiredKeysOf } from '../../projections/runners/runner-credential.queries.ts';
import { tenantNames } from '../../projections/tenants/tenant.queries.ts';
import { ok, type Result, reasonOf, unknown, warn } from './finding.ts';
import type { HeldParts } from './held-deliveries.ts';

/** The maximum number of agents whose runners the broker is asked for: those whose deliveries have waited longest. */
const MAX_ASKED = 20;
/** A shorter wait may be a runner that restarts. */
const MIN_WAIT_MS = 60_000;
/** An agent with a connected runner lags if no runner has taken its oldest waiting message for this time. */
const LAGGING_MS = 300_000;
/** The time limit for the broker, and for the budgets, which are in the event store. */
const TIMEOUT_MS = 1_000;

const BROKER_ADVICE = 'repair NATS first: it knows which runners are connected';
const BUDGETS_ADVICE = 'repair the event store first: budgets are read from it';
const MISSING_ADVICE = 'have these tenants start a runner (annals runner): their overview names the agents';
const LAGGING_ADVICE = 'have the tenants that lag start more runners, or read the log of theirs';

/** The queues of all tenants, and the names of these tenants. */
export type NamedQueues = {
  readonly at: number;
  readonly queues: readonly OpenQueue[];
  readonly hasMore: boolean;
  readonly tenants: ReadonlyMap<string, string>;
};

/** `waiting_since`: when the broker got the oldest message that no runner has; null if there is none. */
type Asked = OpenQueue & { readonly isConnected: boolean; readonly waiting_since: string | null };

/** The agents that their hourly budgets stop, and until when. An error if the event store does not answer. */
export type StoppedAgents = readonly { readonly tenant_id: string; readonly agent_id: string; readonly until: string }[] | Error;

/** The MAX_ASKED agents whose deliveries have waited longest, of those that have waited for a minute. */
export type AskedAgents = readonly Asked[] | Error;

const byTenant = (queues: readonly OpenQueue[]) =>
  [...Map.groupBy(queues, ({ tenant_id }) => tenant_id)].map(([tenant_id, of]) => ({
    tenant_id,
    agent_ids: of.map(({ agent_id }) => agent_id),
  }));

const readQueues = async ({ reads }: HeldParts): Promise<NamedQueues> => {
  const at = Date.now();
  const { queues, hasMore } = await openQueuesOfAllTenants(reads);
  return { at, queues, hasMore, tenants: await tenantNames(reads, [...new Set(queues.map(({ tenant_id }) => tenant_id))]) };
};

const readStopped = ({ contextOf }: HeldParts, { queues }: NamedQueues): Promise<StoppedAgents> => {
  const found = byTenant(queues).map(async ({ tenant_id, agent_ids }) => {
    const spent = await spentBudgets(contextOf(tenant_id), agent_ids);
    return spent.map((one) => ({ tenant_id, ...one }));
  });
  return withinTime(
    Promise.all(found).then((spent) => spent.flat()),
    TIMEOUT_MS,
  );
};

/** Reads the keys first: without Postgres, nothing is known, whatever the broker answers. */
const readAsked = async ({ reads, broker }: HeldParts, { at, queues }: NamedQueues): Promise<AskedAgents> => {
  const late = queues.filter(({ since }) => Date.parse(since) <= at - MIN_WAIT_MS).slice(0, MAX_ASKED);
  const keysOf = byTenant(late).map((of) => unexpiredKeysOf(reads, { ...of, at: new Date(at).toISOString() }));
  const keys = new Map((await Promise.all(keysOf)).flatMap((found) => [...found]));
  const asked = late.map(async (queue) => {
    const [connected, { first }] = await Promise.all([
      isRunnerConnected(broker, keys.get(queue.agent_id) ?? []),
      broker.queueOf(queue.tenant_id, queue.agent_id),
    ]);
    return { ...queue, isConnected: connected, waiting_since: first?.at ?? null };
  });
  return withinTime(Promise.all(asked), TIMEOUT_MS);
};

/**
 * Creates the functions that read the queues of all tenants, and what holds them up. `reuse` makes them share their
 * results: each part waits only for its own service.
 */
export const createQueueReaders = (parts: HeldParts, reuse: <T>(read: () => Promise<T>) => () => Promise<T>) => {
  const queues = reuse(() => readQueues(parts));
  const stopped = reuse(async () => readStopped(parts, await queues()));
  const asked = reuse(async () => readAsked(parts, await queues()));
  return { queues, stopped, asked };
};

export type QueueReaders = ReturnType<typeof createQueueReaders>;

const ageText = (ms: number): string => {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 2) return `${Math.max(0, Math.round(ms / 1_000))} s`;
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h`;
};

const MAX_NAMES = 5;

/** Counts agents, in all and by tenant: `3 agents (Northwind 2, Acme 1)`. */
const agentsText = (of: readonly { readonly tenant_id: string }[], { tenants }: NamedQueues): string => {
  const groups = [...Map.groupBy(of, ({ tenant_id }) => tenant_id)].sort(([, one], [, other]) => other.length - one.length);
  const named = groups.slice(0, MAX_NAMES).map(([id, agents]) => `${tenants.get(id) ?? id} ${agents.length}`);
  const rest = groups.length > MAX_NAMES ? [`${counted(groups.length - MAX_NAMES, 'other tenant')}`] : [];
  return `${counted(of.length, 'agent')} (${[...named, ...rest].join(', ')})`;
};

const oldestMs = (times: readonly string[], at: number): number => times.reduce((age, time) => Math.max(age, at - Date.parse(time)), 0);

/** Returns the finding about deliveries that are neither acknowledged nor given up. */
export const queuesResult = ({ queues, hasMore, at }: NamedQueues): Result => {
  const count = queues.reduce((sum, one) => sum + one.count, 0);
  const times = queues.map(({ since }) => since);
  const age = oldestMs(times, at);
  const figures = { open_deliveries: count, oldest_seconds: Math.round(age / 1_000) };
  if (count === 0) return { ...ok('no delivery is open'), figures };
  const message = `${hasMore ? 'at least ' : ''}${counted(count, 'delivery')} of ${counted(queues.length, 'agent')} ${count === 1 ? 'is' : 'are'} open, the oldest for ${ageText(age)}`;
  return { ...ok(message), figures };
};

/** Returns the connected agents that lag although no budget stops them; null while budgets are not known. */
const laggingOf = (connected: readonly Asked[], stopped: StoppedAgents, at: number) => {
  if (stopped instanceof Error) return null;
  const isStopped = (id: string) => stopped.some(({ agent_id }) => agent_id === id);
  return connected.flatMap(({ tenant_id, agent_id, waiting_since }) =>
    waiting_since !== null && Date.parse(waiting_since) <= at - LAGGING_MS && !isStopped(agent_id) ? [{ tenant_id, waiting_since }] : [],
  );
};

/** Returns the finding about the runners of the agents whose deliveries have waited longest. */
export const runnersResult = (found: NamedQueues, asked: AskedAgents, stopped: StoppedAgents): Result => {
  if (asked instanceof Error) return unknown(reasonOf(asked), BROKER_ADVICE);
  const connected = asked.filter((one) => one.isConnected);
  const missing = asked.filter((one) => !one.isConnected);
  const known = laggingOf(connected, stopped, found.at);
  const figures = { connected_agents: connected.length, ...(known && { lagging_agents: known.length }) };
  if (asked.length === 0) return { ...ok('no delivery has been open for a minute'), figures };
  const lagging = known ?? [];
  const age = oldestMs(
    lagging.map(({ waiting_since }) => waiting_since),
    found.at,
  );
  const message = [
    `${connected.length} of ${counted(asked.length, 'agent')} whose deliveries have waited longest ${connected.length === 1 ? 'has' : 'have'} a connected runner`,
    missing.length > 0 && `no runner is connected for ${agentsText(missing, found)}`,
    lagging.length > 0 && `${agentsText(lagging, found)} with a runner ${lagging.length === 1 ? 'lags' : 'lag'}, by up to ${ageText(age)}`,
  ];
  const advice = [missing.length > 0 && MISSING_ADVICE, lagging.length > 0 && LAGGING_ADVICE].filter((text) => text !== false);
  const text = message.filter((part) => part !== false).join('; ');
  return { ...(advice.length === 0 ? ok(text) : warn(text, advice.join('; '))), figures };
};

/** Returns the finding about agents that budgets stop. This is not a fault: they continue by themselves. */
export const budgetsResult = (found: NamedQueues, stopped: StoppedAgents): Result => {
  if (stopped instanceof Error) return unknown(reasonOf(stopped), BUDGETS_ADVICE);
  const figures = { stopped_agents: stopped.length };
  if (stopped.length === 0) return { ...ok('no budget stops an agent with an open delivery'), figures };
  const words = `${stopped.length === 1 ? 'waits' : 'wait'} until ${stopped[0]!.until}`;
  return { ...ok(`${agentsText(stopped, found)} with a spent hourly budget ${words}`), figures };
};
