import type { Rows } from '../../areas.ts';
import { readMayOnAgent } from '../../console/permission.ts';
import type { Visit } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';

type Agent = ReplyOf<Rows['listAgents']>[number];
type Integration = ReplyOf<Rows['listWebhookIntegrations']>[number];
type Presence = ReplyOf<Rows['getRunnerPresence']>;
type Delivery = ReplyOf<Rows['getDelivery']>;

/**
 * What the tenant already has: its newest agent, an integration and the runner of this agent, and the agent's newest
 * deliveries.
 */
export type Progress = {
  readonly agent: Agent | null;
  readonly integration: Integration | null;
  readonly presence: Presence | null;
  /** The newest delivery that was accepted. */
  readonly delivery: Delivery | null;
  /** The newest delivery if it was rejected or blocked, so that the runner does not get it. */
  readonly refused: Delivery | null;
  /** Whether the agent has a runner key, which was shown once. */
  readonly hasKey: boolean;
  readonly onAgent: (permission: string) => boolean;
};

const failed = (answers: readonly Answer<unknown>[]) => answers.find((one) => !one.ok);

const readDelivery = async ({ ask, rows, params }: Visit, delivery_id: string | undefined): Promise<Delivery | null> => {
  const answer = delivery_id === undefined ? null : await ask(rows.getDelivery, { tenant_id: params.tenant_id!, delivery_id });
  return answer?.ok ? answer.value : null;
};

/** Reads the newest delivery of an agent that was accepted. */
const readAccepted = async (visit: Visit, path: { tenant_id: string; agent_id: string }): Promise<Delivery | null> => {
  const listed = await visit.ask(visit.rows.listTenantDeliveries, { ...path, outcome: 'accepted', limit: 1 });
  return listed.ok ? readDelivery(visit, (listed.value as readonly { id: string }[])[0]?.id) : null;
};

/** Reads what the tenant already has. If a call fails, the result is its problem. */
export const readProgress = async (visit: Visit): Promise<Answer<Progress>> => {
  const { ask, rows, params, query } = visit;
  const tenant_id = params.tenant_id!;
  const agents = await ask(rows.listAgents, { tenant_id, limit: 200 });
  if (!agents.ok) return agents;
  const all = agents.value as readonly Agent[];
  const agent = all.find(({ id }) => id === query.get('agent_id')) ?? all[0] ?? null;
  const none = { agent, integration: null, presence: null, delivery: null, refused: null, hasKey: false, onAgent: () => false };
  if (agent === null) return { ...agents, value: none };
  const path = { tenant_id, agent_id: agent.id };
  const [integrations, presence, deliveries, onAgent] = await Promise.all([
    ask(rows.listWebhookIntegrations, { tenant_id, limit: 200 }),
    ask(rows.getRunnerPresence, path),
    ask(rows.listTenantDeliveries, { ...path, limit: 1 }),
    readMayOnAgent(visit, tenant_id, agent.id),
  ]);
  const problem = failed([integrations, deliveries]);
  if (problem && !problem.ok) return problem;
  const own = integrations.ok ? (integrations.value as readonly Integration[]).find(({ agent_id }) => agent_id === agent.id) : undefined;
  const newest = deliveries.ok ? deliveries.value[0] : undefined;
  const isRefused = newest?.outcome === 'rejected' || newest?.outcome === 'blocked';
  const [delivery, refused, keys] = await Promise.all([
    isRefused ? readAccepted(visit, path) : readDelivery(visit, newest?.id),
    isRefused ? readDelivery(visit, newest.id) : null,
    onAgent('agent:settings:write') ? ask(rows.listRunnerKeys, { ...path, limit: 1 }) : null,
  ]);
  const found = {
    agent,
    integration: own ?? null,
    presence: presence.ok ? presence.value : null,
    delivery,
    refused,
    hasKey: keys?.ok === true && keys.value.length > 0,
    onAgent,
  };
  return { ...agents, value: found };
};
