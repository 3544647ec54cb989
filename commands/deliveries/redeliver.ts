import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import * as Delivery from '../../domain/deliveries/delivery.ts';
import { Id25 } from '../../domain/id.ts';
import { conflict, invalid } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { checkOnce } from '../check-once.ts';
import type { Ctx, Input, Loaded, ReactorCtx } from '../context.ts';
import { acceptsDeliveries, isActive } from './delivery-eligibility.ts';

export const Redeliver = z
  .strictObject({
    agent_id: Id25.nullish().meta({ description: 'The agent that gets the delivery; absent: the agent that got it first' }),
  })
  .meta({ id: 'Redeliver', examples: [{}] });

export type Redelivery = { id: string; message_id: string; agent_id: string; requeued_at: string };

/** Checks that the agent accepts deliveries. `pointer`: the field with its id. @throws Refusal invalid, conflict */
export const checkAgent = async (ctx: Ctx, agent_id: string, pointer = '/agent_id'): Promise<void> => {
  const { state } = await ctx.load(Agent, agent_id);
  if (state.status !== 'live') throw invalid(pointer, 'there is no such agent', 'unknown_agent');
  if (!state.is_active) throw conflict(pointer, 'agent_inactive', 'The agent is not active: activate it first');
};

/** Sends an accepted delivery as a new message, however the earlier ones ended. @throws Refusal not_found, conflict, invalid */
export const redeliver = async (
  ctx: Ctx,
  { delivery_id, agent_id }: Input<typeof Redeliver, 'delivery_id'>,
): Promise<Loaded<Redelivery>> => {
  const { state } = await ctx.load(Delivery, delivery_id);
  Delivery.assertDeliverable(state);
  const target = agent_id ?? state.facts!.agent_id;
  await checkOnce(ctx, () => checkAgent(ctx, target));
  const requeued = await ctx.transact(Delivery, delivery_id, Delivery.requeue(target));
  const { message_id, agent_id: agent, requeued_at } = requeued.state;
  return { ...requeued, state: { id: delivery_id, message_id: message_id!, agent_id: agent!, requeued_at: requeued_at! } };
};

/** A message that the broker has given up or lost. `agent_id`: the agent to whose runners it was sent. */
export type DeadMessage = {
  readonly tenant: string;
  readonly agent_id: string;
  readonly delivery_id: string;
  readonly message_id: string;
};

/** Returns why nothing must be sent again to an agent; null if there is no reason. */
export const recipientObstacle = async (
  { load }: ReactorCtx,
  { tenant, agent_id }: Pick<DeadMessage, 'tenant' | 'agent_id'>,
): Promise<string | null> => {
  const [owner, agent] = await Promise.all([load(Tenant, tenant, { tenant }), load(Agent, agent_id, { tenant })]);
  if (!acceptsDeliveries(owner.state)) return 'its tenant is suspended or closed';
  return isActive(agent.state) ? null : 'its agent is inactive or deleted';
};

/** Returns why a message must not be sent again. */
const obstacleOf = async (ctx: ReactorCtx, message: DeadMessage): Promise<string | null> => {
  const { tenant, delivery_id, message_id } = message;
  const [obstacle, delivery] = await Promise.all([recipientObstacle(ctx, message), ctx.load(Delivery, delivery_id, { tenant })]);
  if (obstacle) return obstacle;
  if (delivery.state.status !== 'accepted') return 'the log does not have it';
  return delivery.state.message_id === message_id ? null : 'it was sent again already';
};

/** The new message (null with `dryRun`), or why the delivery was skipped. */
export type SentAgain = { readonly message_id: string | null } | { readonly skipped: string };

type Decision = (delivery: Delivery.Delivery) => Delivery.DeliveryEvent[];

/** Sends a message again unless it must not be sent; with `dryRun`, only checks this. @throws Refusal unavailable */
const sendAgain = async (ctx: ReactorCtx, message: DeadMessage, decision: Decision, dryRun: boolean): Promise<SentAgain> => {
  const obstacle = await obstacleOf(ctx, message);
  if (obstacle) return { skipped: obstacle };
  if (dryRun) return { message_id: null };
  const { state } = await ctx.transact(Delivery, message.delivery_id, decision, { tenant: message.tenant });
  return { message_id: state.message_id };
};

/**
 * Sends each message that was given up only once more, however often this is called. With `dryRun`, only checks. @throws Refusal
 * unavailable
 */
export const redeliverDead = (ctx: ReactorCtx, dead: DeadMessage, dryRun: boolean): Promise<SentAgain> =>
  sendAgain(ctx, dead, Delivery.requeueDead(dead.message_id, dead.agent_id), dryRun);

/**
 * Sends a message that the broker lost before an acknowledgement only once more, however often this is called. It keeps its CloudEvents id,
 * so that no runner processes a delivery twice. With `dryRun`, only checks.
 * @throws Refusal unavailable
 */
export const redriveLost = (ctx: ReactorCtx, lost: DeadMessage, dryRun: boolean): Promise<SentAgain> =>
  sendAgain(ctx, lost, Delivery.repeatLost(lost.message_id), dryRun);
