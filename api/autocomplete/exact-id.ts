import type { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { MAX_SORT_KEY, parseToken, sortKey, tokenOf } from '../../domain/event.ts';
import { isId25 } from '../../domain/id.ts';
import * as Session from '../../domain/sessions/session.ts';
import { positionsOf } from '../../projections/audit/audit-head.queries.ts';
import { deliveryById, deliveryByProviderId, type FoundDelivery } from '../../projections/deliveries/delivery.queries.ts';
import { integrationName } from '../../projections/integrations/integration.queries.ts';
import { cronJobById } from '../../projections/schedule/cron-job.queries.ts';
import type { CronJobRead } from '../../projections/schedule/cron-job.ts';
import { hiddenAgents } from '../agents/readable-agents.ts';
import { eventOf } from '../audit/event-detail.ts';
import type { Ctx } from '../http/operation.ts';

export const EXACT_TYPES = ['delivery', 'event', 'request', 'position'] as const;
type ExactType = 'agent' | 'session' | 'integration' | 'cron_job' | (typeof EXACT_TYPES)[number];

/**
 * Something that was found by its id. `label` is the text that people see. `detail` is an additional text, or null.
 * `agent_id` is the agent to which a cron job belongs.
 */
type Found = {
  readonly id: string;
  readonly label: string;
  readonly type: ExactType;
  readonly detail: string | null;
  readonly agent_id?: string;
};

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Matches ids of requests. Callers can choose them; short ones are too likely to be the start of a name. */
const REQUEST_ID = /^[\w.:/+=-]{12,128}$/;

const agentById = async (ctx: Ctx, id: string): Promise<Found | null> => {
  const { state } = await ctx.load(Agent, id);
  if (state.status !== 'live' || !(await ctx.may('agent:read', id))) return null;
  return { id, label: state.name, type: 'agent', detail: state.slug };
};

const mayReadChats = async (ctx: Ctx, agent_id: string): Promise<boolean> => ctx.may('agent:chat:read', agent_id);

const sessionById = async (ctx: Ctx, id: string): Promise<Found | null> => {
  const { state } = await ctx.load(Session, id);
  if (state.status === 'absent') return null;
  const isReadable = (await ctx.may('tenant:audit:read')) || (await mayReadChats(ctx, state.agent_id));
  return isReadable ? { id, label: state.title ?? 'Session', type: 'session', detail: state.status } : null;
};

const shownDelivery = async (ctx: Ctx, found: FoundDelivery | null): Promise<Found | null> => {
  if (!found) return null;
  const { id, agent_id, event, outcome } = found.delivery;
  const isReadable = (await ctx.may('tenant:integrations:read')) || (await mayReadChats(ctx, agent_id));
  return isReadable ? { id, label: event ?? 'Delivery', type: 'delivery', detail: outcome } : null;
};

const deliveryOf = async (ctx: Ctx, id: string): Promise<Found | null> => shownDelivery(ctx, await deliveryById(ctx.reads, ctx.tenant, id));

/** Returns the newest delivery that its provider knows by this id. */
const deliveryOfProvider = async (ctx: Ctx, id: string): Promise<Found | null> =>
  shownDelivery(ctx, await deliveryByProviderId(ctx.reads, ctx.tenant, id));

const integrationOf = async (ctx: Ctx, id: string): Promise<Found | null> => {
  const found = await integrationName(ctx.reads, ctx.tenant, id);
  if (!found || (await hiddenAgents(ctx)).includes(found.agent_id!)) return null;
  return { id, label: found.label ?? 'Integration', type: 'integration', detail: found.provider };
};

const cronJobOf = async (ctx: Ctx, id: string): Promise<Found | null> => {
  const found = await cronJobById(ctx.reads, ctx.tenant, id);
  if (!found) return null;
  const { agent_id, name, status } = JSON.parse(found.doc) as z.output<typeof CronJobRead>;
  return (await ctx.may('agent:read', agent_id)) ? { id, label: name, type: 'cron_job', detail: status, agent_id } : null;
};

const eventById = async (ctx: Ctx, id: string): Promise<Found | null> => {
  const event = (await ctx.may('tenant:audit:read')) ? await eventOf(ctx, id) : null;
  return event && { id, label: event.type, type: 'event', detail: event.at };
};

/** Returns the newest event of the tenant that a request has caused. */
const requestById = async (ctx: Ctx, id: string): Promise<Found | null> => {
  if (!(await ctx.may('tenant:audit:read'))) return null;
  const [position] = await positionsOf(ctx.reads, { tenant_id: ctx.tenant, from: '', to: MAX_SORT_KEY, request_id: id }, 1, 'newest');
  const event = position && (await ctx.log.eventAt(position));
  return event ? { id, label: event.type, type: 'request', detail: event.at } : null;
};

const eventAtPosition = async (ctx: Ctx, id: string): Promise<Found | null> => {
  const wanted = parseToken(id);
  if (!wanted || !(await ctx.may('tenant:audit:read'))) return null;
  const [from, to] = [sortKey(wanted), sortKey(wanted)];
  const [position] = await positionsOf(ctx.reads, { tenant_id: ctx.tenant, from, to }, 1);
  const event = position && (await ctx.log.eventAt(position));
  return event ? { id: tokenOf(event.position), label: event.type, type: 'position', detail: event.at } : null;
};

/** Matches ids that providers give to deliveries; short ones are too likely to be the start of a name. */
const PROVIDER_ID = /^[!-~]{8,255}$/;

type Search = (ctx: Ctx, id: string) => Promise<Found | null>;

const SEARCHES: readonly (readonly [hasForm: (text: string) => boolean, type: ExactType, search: Search])[] = [
  [isId25, 'agent', agentById],
  [isId25, 'session', sessionById],
  [isId25, 'delivery', deliveryOf],
  [(text) => PROVIDER_ID.test(text) && !isId25(text), 'delivery', deliveryOfProvider],
  [isId25, 'integration', integrationOf],
  [isId25, 'cron_job', cronJobOf],
  [(text) => UUID.test(text), 'event', eventById],
  [(text) => REQUEST_ID.test(text) && !isId25(text), 'request', requestById],
  [(text) => parseToken(text) !== null, 'position', eventAtPosition],
];

/**
 * Returns what the tenant has under this id. The list is empty if there is nothing, or the caller may not see it. An id
 * of another tenant is searched for like one that does not exist, so that the time of the answer does not reveal it.
 */
export const findById = async (ctx: Ctx, text: string, types: readonly string[]): Promise<Found[]> => {
  const searches = SEARCHES.filter(([hasForm, type]) => types.includes(type) && hasForm(text));
  const found = await Promise.all(searches.map(([, , search]) => search(ctx, text)));
  return found.filter((one) => one !== null);
};
