import * as Agent from '../../domain/agents/agent.ts';
import { isId25 } from '../../domain/id.ts';
import * as Session from '../../domain/sessions/session.ts';
import { deliveryById } from '../../projections/webhooks/delivery.queries.ts';
import { eventOf } from '../audit/event-detail.ts';
import type { Ctx } from '../http/operation.ts';

/** The types of resources that can be found only by their complete id. */
export const EXACT_TYPES = ['delivery', 'event'] as const;
type ExactType = 'agent' | 'session' | (typeof EXACT_TYPES)[number];

/**
 * A resource that was found by its id. `label` is the text that people see. `detail` is an additional text, or null.
 */
type Found = { readonly id: string; readonly label: string; readonly type: ExactType; readonly detail: string | null };

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const agentById = async (ctx: Ctx, id: string): Promise<Found | null> => {
  const { state } = await ctx.load(Agent, id);
  if (state.status !== 'live' || !(await ctx.may('agent:read', id))) return null;
  return { id, label: state.name, type: 'agent', detail: state.slug };
};

const mayReadChats = async (ctx: Ctx, agent_id: string): Promise<boolean> => ctx.may('agent:chat:read', agent_id);

const sessionById = async (ctx: Ctx, id: string): Promise<Found | null> => {
  const { state } = await ctx.load(Session, id);
  if (state.status === 'absent' || !(await mayReadChats(ctx, state.agent_id))) return null;
  return { id, label: state.title ?? 'Session', type: 'session', detail: state.status };
};

const deliveryOf = async (ctx: Ctx, id: string): Promise<Found | null> => {
  const found = await deliveryById(ctx.reads, ctx.tenant, id);
  if (!found) return null;
  const { agent_id, event, outcome } = found.delivery;
  const isReadable = (await ctx.may('tenant:integrations:read')) || (await mayReadChats(ctx, agent_id));
  return isReadable ? { id, label: event ?? 'Delivery', type: 'delivery', detail: outcome } : null;
};

const eventById = async (ctx: Ctx, id: string): Promise<Found | null> => {
  const event = (await ctx.may('tenant:audit:read')) ? await eventOf(ctx, id) : null;
  return event && { id, label: event.type, type: 'event', detail: event.at };
};

/**
 * Returns the agent, session, delivery or event of the tenant with this id. The list is empty if there is none, or the
 * caller may not see it. Ids are random, so at most one resource has an id.
 */
export const findById = async (ctx: Ctx, text: string, types: readonly string[]): Promise<Found[]> => {
  const searches: readonly (readonly [ExactType, (ctx: Ctx, id: string) => Promise<Found | null>])[] = isId25(text)
    ? [
        ['agent', agentById],
        ['session', sessionById],
        ['delivery', deliveryOf],
      ]
    : UUID.test(text)
      ? [['event', eventById]]
      : [];
  const found = await Promise.all(searches.filter(([type]) => types.includes(type)).map(([, search]) => search(ctx, text)));
  return found.filter((one) => one !== null);
};
