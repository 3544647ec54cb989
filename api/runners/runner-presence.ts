import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import type { AgentQueue, RunnerBroker } from '../../commands/runners/runner-broker.ts';
import { sortKey } from '../../domain/event.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { connectedSince, lastSeen, type RunnerConnection } from '../../domain/runners/runner-presence.ts';
import { keysBefore, unexpiredKeys } from '../../projections/runners/runner-credential.queries.ts';
import { deliveries } from '../../projections/webhooks/delivery.ts';
import { firstMessageAt, lastAcknowledgedAt, messagesAfter } from '../../projections/webhooks/runner-queue.queries.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';

export const RunnerPresence = z
  .object({
    agent_id: idOf('agent'),
    connected_since: Timestamp.nullable().meta({
      description: 'Since when at least one runner has been connected to the broker without a gap; null if none is connected',
    }),
    last_seen_at: Timestamp.nullable().meta({
      description: 'When a runner last talked to the broker, as far as is known; null if none ever did',
    }),
    waiting: z.int().meta({ description: 'Accepted deliveries that no runner has received yet', examples: [3] }),
    running: z.int().meta({ description: 'Deliveries that a runner has received and not acknowledged yet', examples: [1] }),
    oldest_waiting_at: Timestamp.nullable().meta({
      description: 'Since when the oldest waiting delivery has waited; null if none waits',
      examples: [null],
    }),
  })
  .meta({ id: 'RunnerPresence' });

type AgentPath = { readonly tenant_id: string; readonly agent_id: string };

/**
 * The maximum number of pages of credentials that are read. A runner renews its credential at least once an hour, so
 * this covers several weeks.
 */
const MAX_PAGES = 100;

/**
 * Returns the connections of the agent's runners: the open ones, and the earlier ones that overlap or adjoin them
 * without a gap.
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

/**
 * Counts the deliveries that wait for a runner: those at the broker, and those that were not sent to the broker yet.
 */
const waitingOf = async ({ reads }: Ctx, agent: AgentPath, { waiting, first, publishedThrough }: AgentQueue) => {
  const end = publishedThrough ? sortKey(publishedThrough) : '';
  const unpublished = await messagesAfter(reads, agent, end);
  // This text sorts after the last published place and before every later place.
  const since = first?.position ? sortKey(first.position) : `${end}0`;
  const oldest = waiting + unpublished === 0 ? null : await firstMessageAt(reads, agent, since);
  return { waiting: waiting + unpublished, oldest_waiting_at: oldest ?? first?.at ?? null };
};

const readPresence =
  (broker: RunnerBroker) =>
  async (ctx: Ctx, { tenant_id, agent_id }: AgentPath) => {
    const agent = { tenant_id, agent_id };
    await loadAgent(ctx, agent_id);
    const [queue, connections, acknowledged_at] = await Promise.all([
      broker.queueOf(tenant_id, agent_id),
      connectionsOf(ctx, broker, agent),
      lastAcknowledgedAt(ctx.reads, agent),
    ]);
    const presence = {
      agent_id,
      connected_since: connectedSince(connections),
      last_seen_at: lastSeen([acknowledged_at, ...connections.map(({ active_at }) => active_at)]),
      running: queue.running,
      ...(await waitingOf(ctx, agent, queue)),
    };
    return { doc: JSON.stringify(RunnerPresence.parse(presence)), revision: null };
  };

/**
 * Creates the operation that shows whether runners of an agent are connected. `broker` reads the state of the message
 * broker.
 */
export const runnerPresenceOperations = (broker: RunnerBroker) => ({
  getRunnerPresence: operation({
    method: 'get',
    path: '/tenant/:tenant_id/agents/:agent_id/runner',
    summary: 'Show whether a runner of an agent is connected',
    details:
      'And which deliveries wait for it. The connections come from the message broker, which forgets closed ones when it restarts. 503 if it does not answer.',
    permit: 'agent:read',
    reply: RunnerPresence,
    projection: deliveries.name,
    noETag: true,
    run: readPresence(broker),
  }),
});
