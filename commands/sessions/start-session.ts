import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { displayText, integer } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { conflict, invalid } from '../../domain/refusal.ts';
import * as Session from '../../domain/sessions/session.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import * as Delivery from '../../domain/webhooks/delivery.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { readModelChain } from '../runners/agent-runtime.ts';
import { sessionView } from './session-names.ts';

const DAY_SECONDS = 86_400;
const MAX_LIFETIME_SECONDS = 30 * DAY_SECONDS;

export const SessionStart = z
  .strictObject({
    title: displayText(1, 255)
      .nullable()
      .default(null)
      .meta({ description: 'What the session is about', examples: ['Review of pull request 42'] }),
    delivery_id: idOf('delivery', 'The delivery to this agent that the session processes').nullable().default(null),
    cron_occurrence_id: displayText(1, 128)
      .nullable()
      .default(null)
      .meta({ description: 'The occurrence of a cron job that the session processes', examples: [null] }),
    user_id: idOf('user', 'The member for whom the session runs').nullable().default(null),
    expires_in_seconds: integer(1, MAX_LIFETIME_SECONDS)
      .default(DAY_SECONDS)
      .meta({ description: 'After this time, the session expires if it has not ended' }),
  })
  .meta({ id: 'SessionStart', examples: [{ title: 'Review of pull request 42' }] });

type Start = Input<typeof SessionStart, 'tenant_id' | 'agent_id'>;

/** Loads an agent that can work. @throws Refusal not_found, conflict if it is inactive or deleted */
const loadActiveAgent = async (ctx: Ctx, agent_id: string): Promise<Loaded<Agent.Agent>> => {
  const agent = await ctx.load(Agent, agent_id);
  const { status, is_active } = agent.state;
  if (status === 'deleted' || status === 'released') throw conflict('/path/agent_id', 'agent_deleted', 'The agent is deleted');
  Agent.assertExists(agent.state);
  if (!is_active) throw conflict('/path/agent_id', 'agent_inactive', 'The agent is inactive: activate it to start sessions');
  return agent;
};

/** @throws Refusal invalid if no such delivery was sent to the agent */
const checkDelivery = async (ctx: Ctx, agent_id: string, delivery_id: string): Promise<void> => {
  const { agent_id: latest, facts } = (await ctx.load(Delivery, delivery_id)).state;
  if (latest !== agent_id && facts?.agent_id !== agent_id)
    throw invalid('/delivery_id', 'is not a delivery to this agent', 'unknown_delivery');
};

/** @throws Refusal invalid if the user is not a member of the tenant */
const checkMember = async (ctx: Ctx, user_id: string): Promise<void> => {
  if (!(await ctx.load(Tenant, ctx.tenant)).state.members[user_id])
    throw invalid('/user_id', 'is not a member of this tenant', 'unknown_member');
};

/**
 * Checks a request to start a session, and returns what it records of the agent. @throws Refusal not_found, conflict,
 * invalid
 */
const agentFields = async (ctx: Ctx, { agent_id, delivery_id, user_id }: Start) => {
  const agent = await loadActiveAgent(ctx, agent_id);
  if (delivery_id !== null) await checkDelivery(ctx, agent_id, delivery_id);
  if (user_id !== null) await checkMember(ctx, user_id);
  const { primary, position } = await readModelChain(ctx, agent);
  const model_ids = agent.state.models.map(({ model_id }) => model_id);
  return { agent_revision: agent.revision, model_ids, model_id: primary, position };
};

/**
 * Starts a session of an agent. Its event records the agent's revision and model chain.
 * @throws Refusal not_found, conflict if the agent is inactive or deleted, invalid
 */
export const startSession = async (ctx: Ctx, input: Start) => {
  const { agent_id, title, delivery_id, cron_occurrence_id, user_id, expires_in_seconds } = input;
  // As a side effect: a repeat with the same Idempotency-Key succeeds even if the agent has become inactive.
  const ofAgent = await ctx.sideEffect(() => agentFields(ctx, input));
  const expires_at = new Date(Date.parse(ctx.at()) + expires_in_seconds * 1_000).toISOString();
  const data = { agent_id, title, delivery_id, cron_occurrence_id, user_id, expires_at, ...ofAgent };
  return sessionView(ctx, await ctx.transact(Session, ctx.newId(), Session.start(data), { expectNew: true }));
};
