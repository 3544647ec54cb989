import { budgetEnd } from '../../commands/billing/budget.ts';
import type { AgentQueue, RunnerBroker } from '../../commands/runners/runner-broker.ts';
import { MAX_SORT_KEY, sortKey } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { ACK_WAIT_MS } from '../../domain/runners/runner-credential.ts';
import type { SelectedDeliveries } from '../../projections/deliveries/delivery-selection.ts';
import { isPublishedState, isPublishedStatus } from '../../projections/deliveries/delivery-selection.ts';
import {
  type AgentQueues,
  type DeliveryState,
  type DeliveryStatus,
  publishedState,
  stateOf,
} from '../../projections/deliveries/delivery-states.ts';
import { openAgents, openMessages } from '../../projections/deliveries/open-deliveries.queries.ts';
import type { Reads } from '../../projections/read-model.ts';
import { unexpiredKeys } from '../../projections/runners/runner-credential.queries.ts';
import type { Ctx } from '../http/operation.ts';
import { boundedMap } from '../http/scoped-cache.ts';

/** The state of an agent's queue is cached for this time, also if the broker does not know the queue. */
const REUSED_MS = 1_000;
const MAX_REUSED = 10_000;
/** The time that a list of deliveries waits for the broker. */
const ANSWER_TIMEOUT_MS = 500;

/** Returns null for the refusal which means that the tenant was erased. @throws any other error */
const nullIfErased = (error: unknown): null => {
  if (error instanceof Refusal && error.code === 'not_found') return null;
  throw error;
};

/** What the functions about queues need of a context. */
export type QueueCtx = Pick<Ctx, 'tenant' | 'at' | 'load'> & { readonly reads: Pick<Reads, 'rows'> };

/**
 * A runner has received the messages of the agent with a sort key before the returned one. Returns null if no runner has
 * a message, or if none is connected.
 */
const readBoundary = async (ctx: QueueCtx, broker: RunnerBroker, agent_id: string): Promise<string | null> => {
  const agent = { tenant_id: ctx.tenant, agent_id };
  const queue = await broker.queueOf(ctx.tenant, agent_id);
  const boundary = boundaryOf(queue);
  if (boundary === null) return null;
  const now = ctx.at();
  const keys = await unexpiredKeys(ctx.reads, agent, now);
  const connections = await broker.connectionsOf(keys.map(({ public_key }) => public_key));
  const since = new Date(Date.parse(now) - ACK_WAIT_MS).toISOString();
  return connections.some(({ until }) => until === null || until > since) ? boundary : null;
};

/** Returns the sort key of the first message that no runner has received. */
const boundaryOf = ({ waiting, running, first }: AgentQueue): string | null => {
  if (running === 0) return null;
  if (waiting === 0) return MAX_SORT_KEY;
  return first?.position ? sortKey(first.position) : null;
};

/** Caches the boundaries of the agents' queues for REUSED_MS. */
const createBoundaryCache = (broker: RunnerBroker) => {
  const recent = boundedMap<{ readonly at: number; readonly boundary: Promise<string | null> }>(MAX_REUSED);
  return (ctx: QueueCtx, agent_id: string): Promise<string | null> => {
    const key = `${ctx.tenant} ${agent_id}`;
    const last = recent.get(key);
    if (last && performance.now() - last.at < REUSED_MS) return last.boundary;
    const answer = readBoundary(ctx, broker, agent_id).catch(() => null);
    const late = new Promise<null>((resolve) => void setTimeout(resolve, ANSWER_TIMEOUT_MS, null).unref());
    const boundary = Promise.race([answer, late]);
    recent.set(key, { at: performance.now(), boundary });
    return boundary;
  };
};

type StoredState = { readonly id: string; readonly outcome: string; readonly status: DeliveryStatus | null };
type ShownState = { readonly state: DeliveryState; readonly next_attempt_at: string | null };

/** `agent_id` and `agent_ids` are the agents to which the deliveries were addressed; absent: all. */
type Selected = Pick<SelectedDeliveries, 'status' | 'state' | 'agent_id' | 'agent_ids'>;

/** Adds what read models cannot know about deliveries: whether a runner has them, and whether a budget holds them. */
export type DeliveryStates = {
  /** Returns the queues for a filter by status or state; undefined if the filter does not depend on them. */
  readonly queuesFor: (ctx: Ctx, filter: Selected) => Promise<AgentQueues | undefined>;
  /** Returns the queues of those agents to whom the deliveries were addressed and that have open ones. */
  readonly openQueues: (ctx: Ctx, filter: Omit<Selected, 'status' | 'state'>) => Promise<AgentQueues>;
  /** Returns the queues of those of these agents whose hourly budget is used up. */
  readonly spentQueues: (ctx: QueueCtx, agents: readonly string[]) => Promise<AgentQueues>;
  /**
   * Completes the status of published deliveries, and adds the state of all. If `queues` is given, the list was filtered
   * by these.
   */
  readonly complete: <T extends StoredState>(
    ctx: Ctx,
    deliveries: readonly T[],
    queues?: AgentQueues,
  ) => Promise<readonly (T & ShownState)[]>;
};

/** Returns the state of a delivery as far as it is known without the broker. */
export const storedState = (delivery: Omit<StoredState, 'id'>): ShownState => ({ state: stateOf(delivery), next_attempt_at: null });

/** Returns those of these agents whose hourly budget is used up. Reads only the event store. */
export const spentBudgets = async (ctx: Pick<QueueCtx, 'at' | 'load'>, agents: readonly string[]): Promise<AgentQueues['spent']> => {
  const ends = await Promise.all(agents.map(async (agent_id) => ({ agent_id, until: await budgetEnd(ctx, agent_id).catch(nullIfErased) })));
  return ends.flatMap(({ agent_id, until }) => (until === null ? [] : [{ agent_id, until }]));
};

/** While the broker does not answer, all published deliveries count as queued. */
export const createDeliveryStates = (broker: RunnerBroker): DeliveryStates => {
  const boundaryOfAgent = createBoundaryCache(broker);

  const workingOf = async (ctx: QueueCtx, agents: readonly string[]): Promise<AgentQueues['working']> => {
    const boundaries = await Promise.all(agents.map(async (agent_id) => ({ agent_id, before: await boundaryOfAgent(ctx, agent_id) })));
    return boundaries.flatMap(({ agent_id, before }) => (before === null ? [] : [{ agent_id, before }]));
  };

  const queuesOf = async (ctx: QueueCtx, agents: readonly string[]): Promise<AgentQueues> => {
    const [working, spent] = await Promise.all([workingOf(ctx, agents), spentBudgets(ctx, agents)]);
    return { at: ctx.at(), working, spent };
  };

  const openQueues: DeliveryStates['openQueues'] = async (ctx, { agent_id, agent_ids }) =>
    queuesOf(ctx, await openAgents(ctx.reads, { tenant_id: ctx.tenant, agent_id, agent_ids }));

  return {
    queuesFor: async (ctx, { status, state, ...filter }) =>
      isPublishedStatus(status) || isPublishedState(state) ? openQueues(ctx, filter) : undefined,
    openQueues,
    spentQueues: async (ctx, agents) => {
      const spent = await spentBudgets(ctx, agents);
      const working = await workingOf(
        ctx,
        spent.map(({ agent_id }) => agent_id),
      );
      return { at: ctx.at(), working, spent };
    },
    complete: async (ctx, deliveries, queues) => {
      const published = deliveries.filter(({ status }) => status === 'queued').map(({ id }) => id);
      const messages = await openMessages(ctx.reads, ctx.tenant, published);
      const agents = [...new Set([...messages.values()].map(({ message_agent_id }) => message_agent_id))];
      const known = queues ?? (await queuesOf(ctx, agents));
      return deliveries.map((delivery) => {
        const message = messages.get(delivery.id);
        const shown = { ...delivery, ...storedState(delivery) };
        return message ? { ...shown, ...publishedState(message, known) } : shown;
      });
    },
  };
};
