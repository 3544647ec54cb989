import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import { budgetEnd } from '../../commands/billing/budget.ts';
import type { AgentQueue, RunnerBroker } from '../../commands/runners/runner-broker.ts';
import { sortKey } from '../../domain/event.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { connectedSince, lastSeen, type RunnerConnection } from '../../domain/runners/runner-presence.ts';
import { agentPage } from '../../projections/agents/agent.queries.ts';
import { agents } from '../../projections/agents/agent.ts';
import { deliveries } from '../../projections/deliveries/delivery.ts';
import { Held } from '../../projections/deliveries/delivery-fields.ts';
import { heldByBudget } from '../../projections/deliveries/delivery-states.ts';
import { firstMessageAt, lastAcknowledgedAt, messagesAfter } from '../../projections/deliveries/runner-queue.queries.ts';
import { keysBefore, unexpiredKeys } from '../../projections/runners/runner-credential.queries.ts';
import { runnerCredentials } from '../../projections/runners/runner-credential.ts';
import { AgentIds } from '../agents/agent-activity.ts';
import { agentVisibility } from '../agents/readable-agents.ts';
import { inBatches } from '../http/in-batches.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { listQuery, windowOf } from '../http/paging.ts';
import { boundedMap } from '../http/scoped-cache.ts';

export const RunnerPresence = z
  .object({
    agent_id: idOf('agent'),
    connected_since: Timestamp.nullable().meta({
      description: 'Since when at least one runner has been connected to the broker without a gap; null if none is connected',
    }),
    last_seen_at: Timestamp.nullable().meta({
      description: 'When a runner last talked to the broker, as far as is known; null if none ever did',
    }),
    last_acknowledged_at: Timestamp.nullable().meta({
      description: 'When a runner acknowledged the latest finished delivery of the agent; null if there is none',
      examples: [null],
    }),
    waiting: z.int().meta({
      description: 'Messages that no runner has received yet: accepted deliveries, and what people do in sessions',
      examples: [3],
    }),
    running: z.int().meta({ description: 'Messages that a runner has received and not acknowledged yet', examples: [1] }),
    oldest_waiting_at: Timestamp.nullable().meta({
      description: 'Since when the oldest waiting message has waited; null if none waits',
      examples: [null],
    }),
    held: Held.nullable().meta({ description: 'Why waiting messages are not started; null if nothing holds them', examples: [null] }),
  })
  .meta({ id: 'RunnerPresence' });

type AgentPath = { readonly tenant_id: string; readonly agent_id: string };

/**
 * The maximum number of pages of credentials that are read. They cover several weeks, because a runner gets a new
 * credential at least once an hour.
 */
const MAX_PAGES = 100;

/**
 * Returns the open connections of the agent's runners. Also returns earlier connections as long as no time without a
 * connection lies between them and the open ones.
 */
const connectionsOf = async ({ reads, at }: Ctx, broker: RunnerBroker, agent: AgentPath): Promise<RunnerConnection[]> => {
  const now = at();
  const valid = await unexpiredKeys(reads, agent, now);
  const found = await broker.connectionsOf(valid.map(({ public_key }) => public_key));
  let before = valid.at(-1)?.created_at ?? now;
  for (let page = 0; page < MAX_PAGES; page++) {
    const since = connectedSince(found);
    if (since === null && found.length > 0) break;
    const keys = await keysBefore(reads, agent, before);
    if (keys.length === 0) break;
    found.push(...(await broker.connectionsOf(keys.map(({ public_key }) => public_key))));
    if (connectedSince(found) === since) break;
    before = keys.at(-1)!.created_at;
  }
  return found;
};

/** Counts the deliveries that wait for a runner. They are either at the broker or not yet sent to it. */
const waitingOf = async ({ reads }: Ctx, agent: AgentPath, { waiting, first, publishedThrough }: AgentQueue) => {
  const end = publishedThrough ? sortKey(publishedThrough) : '';
  const unpublished = await messagesAfter(reads, agent, end);
  // This text sorts after the sort key of the last published message, and before every later sort key.
  const since = first?.position ? sortKey(first.position) : `${end}0`;
  const oldest = waiting + unpublished === 0 ? null : await firstMessageAt(reads, agent, since);
  return { waiting: waiting + unpublished, oldest_waiting_at: oldest ?? first?.at ?? null };
};

const readPresence = async (ctx: Ctx, broker: RunnerBroker, { tenant_id, agent_id }: AgentPath): Promise<string> => {
  const agent = { tenant_id, agent_id };
  const [queue, connections, acknowledged_at, until] = await Promise.all([
    broker.queueOf(tenant_id, agent_id),
    connectionsOf(ctx, broker, agent),
    lastAcknowledgedAt(ctx.reads, agent),
    budgetEnd(ctx, agent_id),
  ]);
  const presence = {
    agent_id,
    connected_since: connectedSince(connections),
    last_seen_at: lastSeen([acknowledged_at, ...connections.map(({ active_at }) => active_at)]),
    last_acknowledged_at: acknowledged_at,
    running: queue.running,
    ...(await waitingOf(ctx, agent, queue)),
    held: heldByBudget(until),
  };
  return JSON.stringify(RunnerPresence.parse(presence));
};

/** How long the presence of an agent is cached, in milliseconds. Several users may watch the same list of agents. */
const REUSED_MS = 1_000;
const MAX_REUSED = 10_000;
/** The number of agents whose state is read from the broker in parallel. */
const BATCH = 10;

/** Creates the function that returns the presence of one agent as JSON. The data are at most REUSED_MS old. */
const createPresenceCache = (broker: RunnerBroker) => {
  const recent = boundedMap<{ readonly at: number; readonly doc: Promise<string> }>(MAX_REUSED);
  return (ctx: Ctx, agent: AgentPath): Promise<string> => {
    const key = `${agent.tenant_id} ${agent.agent_id}`;
    const last = recent.get(key);
    if (last && performance.now() - last.at < REUSED_MS) return last.doc;
    const doc = readPresence(ctx, broker, agent);
    recent.set(key, { at: performance.now(), doc });
    doc.catch(() => recent.delete(key));
    return doc;
  };
};

const query = listQuery({
  agent_id: AgentIds.optional().meta({ description: 'Only these agents, separated by commas; at most 200' }),
}).omit({ sort: true });

/**
 * Creates the operations that show whether runners of agents are connected. `broker` reads the state of the message
 * broker.
 */
export const runnerPresenceOperations = (broker: RunnerBroker, presenceOf = createPresenceCache(broker)) => ({
  getRunnerPresence: operation({
    method: 'get',
    path: '/tenant/:tenant_id/agents/:agent_id/runner',
    summary: 'Show whether a runner of an agent is connected',
    details:
      'And which deliveries wait for it. The connections come from the message broker, which forgets closed ones when it restarts. 503 if it does not answer.',
    permit: 'agent:read',
    reply: RunnerPresence,
    projection: deliveries.name,
    otherProjections: [runnerCredentials.name],
    noETag: true,
    run: async (ctx, { tenant_id, agent_id }) => {
      await loadAgent(ctx, agent_id);
      return { doc: await readPresence(ctx, broker, { tenant_id, agent_id }), revision: null };
    },
  }),
  listRunners: operation({
    method: 'get',
    path: '/tenant/:tenant_id/runners',
    summary: 'List which agents have connected runners',
    details:
      'One entry for each agent that the caller may see. An entry can be one second old. The connections come from the message broker. 503 if it does not answer.',
    permit: 'tenant:read',
    query,
    reply: z.array(RunnerPresence),
    projection: deliveries.name,
    otherProjections: [agents.name, runnerCredentials.name],
    noETag: true,
    run: async (ctx, { tenant_id, agent_id, ...window }) => {
      const visibility = await agentVisibility(ctx);
      const { body, next } = await agentPage(ctx.reads, tenant_id, { visibility, ids: agent_id?.split(',') }, windowOf(window));
      const ids = (JSON.parse(body) as { id: string }[]).map(({ id }) => id);
      const docs = await inBatches(ids, BATCH, (id) => presenceOf(ctx, { tenant_id, agent_id: id }));
      return { body: `[${docs}]`, next };
    },
  }),
});
