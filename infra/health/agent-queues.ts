import { createDeliveryStates, type DeliveryStates } from '../../api/webhooks/delivery-states.ts';
import type { RunnerBroker } from '../../commands/runners/runner-broker.ts';
import { counted } from '../../domain/counted.ts';
import { unexpiredKeysOf } from '../../projections/runners/runner-credential.queries.ts';
import { tenantNames } from '../../projections/tenants/tenant.queries.ts';
import { MAX_AGENTS, type OpenQueue, openQueuesOfAllTenants } from '../../projections/webhooks/open-deliveries.queries.ts';
import { fail, ok, type Result, reasonOf, warn } from './finding.ts';
import type { HeldParts } from './held-deliveries.ts';

/** The maximum number of agents whose runners the broker is asked for: those whose deliveries have waited longest. */
const MAX_ASKED = 20;
/** In less time, a runner may be restarting. */
const MIN_WAIT_MS = 60_000;
/** From this age of its oldest delivery, an agent with a connected runner counts as one that lags. */
const LAGGING_MS = 300_000;
/** The time limit for the broker, and for the budgets, which are in the event store. */
const TIMEOUT_MS = 1_000;

export const BROKER_ADVICE = 'repair NATS first: it knows which runners are connected';
export const BUDGETS_ADVICE = 'repair the event store first: budgets are read from it';
const MISSING_ADVICE = 'have these tenants start a runner (annals runner): their overview names the agents';
const LAGGING_ADVICE = 'have these tenants start more runners, or read the log of theirs';

/** A queue, and whether a runner of its agent is connected. */
type Asked = OpenQueue & { readonly isConnected: boolean };

/** The queues of all tenants, of at most MAX_AGENTS agents. What does not answer is an error. */
export type AgentQueues = {
  readonly at: number;
  readonly queues: readonly OpenQueue[];
  /** Of those agents whose deliveries have waited for a minute, the MAX_ASKED that have waited longest. */
  readonly asked: readonly Asked[] | Error;
  /** The agents that their hourly budgets stop, and until when. */
  readonly stopped: readonly { readonly tenant_id: string; readonly agent_id: string; readonly until: string }[] | Error;
  readonly tenants: ReadonlyMap<string, string>;
};

const inTime = <T>(work: Promise<T>): Promise<T | Error> => {
  const late = new Promise<Error>((resolve) => {
    setTimeout(() => resolve(new Error(`no answer within ${TIMEOUT_MS / 1_000} s`)), TIMEOUT_MS).unref();
  });
  return Promise.race([work.catch((error: Error) => error), late]);
};

const byTenant = (queues: readonly OpenQueue[]) =>
  [...Map.groupBy(queues, ({ tenant_id }) => tenant_id)].map(([tenant_id, of]) => ({
    tenant_id,
    agent_ids: of.map(({ agent_id }) => agent_id),
  }));

const readStopped = async ({ reads, contextOf }: HeldParts, states: DeliveryStates, queues: readonly OpenQueue[]) => {
  const found = byTenant(queues).map(async ({ tenant_id, agent_ids }) => {
    const { spent } = await states.spentQueues({ ...contextOf(tenant_id), reads }, agent_ids);
    return spent.map((one) => ({ tenant_id, ...one }));
  });
  return (await Promise.all(found)).flat();
};

const isConnected = async (broker: RunnerBroker, keys: readonly string[]): Promise<boolean> =>
  (await broker.connectionsOf(keys)).some(({ until }) => until === null);

/** Reads the keys first: without Postgres, nothing is known, whatever the broker answers. */
const readAsked = async ({ reads, broker }: HeldParts, queues: readonly OpenQueue[], at: number): Promise<readonly Asked[] | Error> => {
  const keysOf = byTenant(queues).map((of) => unexpiredKeysOf(reads, { ...of, at: new Date(at).toISOString() }));
  const keys = new Map((await Promise.all(keysOf)).flatMap((found) => [...found]));
  const asked = queues.map(async (queue) => ({ ...queue, isConnected: await isConnected(broker, keys.get(queue.agent_id) ?? []) }));
  return inTime(Promise.all(asked));
};

/** Creates the function that reads the queues of all tenants, and what holds them up. */
export const createQueueReader = (parts: HeldParts): (() => Promise<AgentQueues>) => {
  const states = createDeliveryStates(parts.broker);
  return async () => {
    const at = Date.now();
    const queues = await openQueuesOfAllTenants(parts.reads);
    const late = queues.filter(({ since }) => Date.parse(since) <= at - MIN_WAIT_MS).slice(0, MAX_ASKED);
    const [asked, stopped, tenants] = await Promise.all([
      readAsked(parts, late, at),
      inTime(readStopped(parts, states, queues)),
      tenantNames(parts.reads, [...new Set(queues.map(({ tenant_id }) => tenant_id))]),
    ]);
    return { at, queues, asked, stopped, tenants };
  };
};

const ageText = (ms: number): string => {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 2) return `${Math.max(0, Math.round(ms / 1_000))} s`;
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h`;
};

const MAX_NAMES = 5;

/** Returns how many agents of which tenants these are: `3 agents (Northwind 2, Acme 1)`. */
const agentsText = (of: readonly { readonly tenant_id: string }[], { tenants }: AgentQueues): string => {
  const groups = [...Map.groupBy(of, ({ tenant_id }) => tenant_id)].sort(([, one], [, other]) => other.length - one.length);
  const named = groups.slice(0, MAX_NAMES).map(([id, agents]) => `${tenants.get(id) ?? id} ${agents.length}`);
  const rest = groups.length > MAX_NAMES ? [`${counted(groups.length - MAX_NAMES, 'other tenant')}`] : [];
  return `${counted(of.length, 'agent')} (${[...named, ...rest].join(', ')})`;
};

const oldestMs = (queues: readonly OpenQueue[], at: number): number =>
  queues.reduce((age, { since }) => Math.max(age, at - Date.parse(since)), 0);

/** Returns the finding about deliveries that are not finished, and about agents without a runner. */
export const queuesResult = (found: AgentQueues): Result => {
  const { queues, asked, at } = found;
  const count = queues.reduce((sum, one) => sum + one.count, 0);
  const age = oldestMs(queues, at);
  const figures = { open_deliveries: count, oldest_seconds: Math.round(age / 1_000) };
  if (count === 0) return { ...ok('no delivery waits for a runner'), figures };
  const limit = queues.length === MAX_AGENTS ? 'at least ' : '';
  const message = `${limit}${counted(count, 'delivery')} of ${counted(queues.length, 'agent')} ${count === 1 ? 'is' : 'are'} not finished, the oldest for ${ageText(age)}`;
  const missing = asked instanceof Error ? [] : asked.filter((one) => !one.isConnected);
  if (missing.length === 0) return { ...ok(message), figures };
  return { ...warn(`${message}; no runner is connected for ${agentsText(missing, found)}`, MISSING_ADVICE), figures };
};

/** Returns the finding about the runners of the agents whose deliveries have waited longest. */
export const runnersResult = (found: AgentQueues): Result => {
  const { asked, stopped, at } = found;
  if (asked instanceof Error) return fail(reasonOf(asked), BROKER_ADVICE);
  const isStopped = (id: string) => !(stopped instanceof Error) && stopped.some(({ agent_id }) => agent_id === id);
  const connected = asked.filter((one) => one.isConnected);
  const lagging = connected.filter(({ agent_id, since }) => Date.parse(since) <= at - LAGGING_MS && !isStopped(agent_id));
  const figures = { connected_agents: connected.length, lagging_agents: lagging.length };
  if (asked.length === 0) return { ...ok('no delivery has waited for a minute'), figures };
  const message = `${connected.length} of ${counted(asked.length, 'agent')} whose deliveries have waited longest ${connected.length === 1 ? 'has' : 'have'} a connected runner`;
  if (lagging.length === 0) return { ...ok(message), figures };
  const behind = `${agentsText(lagging, found)} with a runner ${lagging.length === 1 ? 'lags' : 'lag'}, by up to ${ageText(oldestMs(lagging, at))}`;
  return { ...warn(`${message}; ${behind}`, LAGGING_ADVICE), figures };
};

/** Returns the finding about agents that budgets stop. They are no fault: they go on by themselves. */
export const budgetsResult = (found: AgentQueues): Result => {
  const { stopped } = found;
  if (stopped instanceof Error) return fail(reasonOf(stopped), BUDGETS_ADVICE);
  const figures = { stopped_agents: stopped.length };
  if (stopped.length === 0) return { ...ok('no budget stops an agent whose deliveries wait'), figures };
  const words = `${stopped.length === 1 ? 'waits' : 'wait'} until ${stopped[0]!.until}`;
  return { ...ok(`${agentsText(stopped, found)} with a spent hourly budget ${words}`), figures };
};
