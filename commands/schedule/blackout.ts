import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { displayText } from '../../domain/fields.ts';
import { Id25 } from '../../domain/id.ts';
import { conflict, invalid } from '../../domain/refusal.ts';
import * as Blackout from '../../domain/schedule/blackout.ts';
import { checkOnce } from '../check-once.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { TimeZone } from './cron-job-fields.ts';

const Day = z.iso.date('must be a date such as 2026-12-24');

const META = {
  name: { description: 'What people see in lists', examples: ['Holidays'] },
  start_date: { description: 'The first day', examples: ['2026-12-24'] },
  end_date: { description: 'The last day, which belongs to the blackout', examples: ['2027-01-01'] },
  agent_id: { description: 'The agent whose jobs do not fire; null: every agent of the tenant', examples: [null] },
  reason: { description: 'Why jobs do not fire', examples: ['The office is closed'] },
  recurring_yearly: { description: 'Whether the blackout comes back every year; 29 February is 28 February in other years' },
  timezone: { description: 'The time zone of the days', examples: ['Europe/Berlin'] },
} as const;

const Reason = displayText(0, 1024);

export const CronBlackoutCreate = z
  .strictObject({
    name: displayText(1, 128).meta(META.name),
    start_date: Day.meta(META.start_date),
    end_date: Day.meta(META.end_date),
    agent_id: Id25.nullable().default(null).meta(META.agent_id),
    reason: Reason.nullable().default(null).meta(META.reason),
    recurring_yearly: z.boolean().default(false).meta(META.recurring_yearly),
    timezone: TimeZone.default('UTC').meta(META.timezone),
  })
  .meta({ id: 'CronBlackoutCreate', examples: [{ name: 'Holidays', start_date: '2026-12-24', end_date: '2027-01-01' }] });

export const CronBlackoutUpdate = z
  .strictObject({
    name: displayText(1, 128).nullish().meta(META.name),
    start_date: Day.nullish().meta(META.start_date),
    end_date: Day.nullish().meta(META.end_date),
    agent_id: Id25.nullish().meta(META.agent_id),
    reason: Reason.nullish().meta(META.reason),
    recurring_yearly: z.boolean().nullish().meta(META.recurring_yearly),
    timezone: TimeZone.nullish().meta(META.timezone),
  })
  .meta({ id: 'CronBlackoutUpdate', examples: [{ end_date: '2027-01-06' }] });

const MAX_IMPACT_AGENTS = 200;

export const CronBlackoutImpactRequest = z
  .strictObject({
    start_date: Day.meta(META.start_date),
    end_date: Day.meta(META.end_date),
    agent_ids: z
      .array(Id25)
      .min(1)
      .max(MAX_IMPACT_AGENTS)
      .nullable()
      .default(null)
      .meta({ description: 'The agents whose jobs do not fire; null: every agent of the tenant', examples: [null] }),
    recurring_yearly: z.boolean().default(false).meta(META.recurring_yearly),
    timezone: TimeZone.default('UTC').meta(META.timezone),
  })
  .meta({ id: 'CronBlackoutImpactRequest', examples: [{ start_date: '2026-12-24', end_date: '2027-01-01' }] });

/** The same refusal also hides an agent that the caller may not see. */
const unknownAgent = (pointer: string) => invalid(pointer, 'there is no such agent', 'unknown_agent');

const assertAgent = async (ctx: Ctx, agent_id: string, pointer = '/agent_id'): Promise<void> => {
  const { state } = await ctx.load(Agent, agent_id);
  if (state.status !== 'live') throw unknownAgent(pointer);
};

/** @throws Refusal invalid, for the field at `pointer`, if the caller may not see the agent */
export const assertVisibleAgent = async (ctx: Ctx, agent_id: string, pointer = '/agent_id'): Promise<void> => {
  await assertAgent(ctx, agent_id, pointer);
  if (!(await ctx.may('agent:read', agent_id))) throw unknownAgent(pointer);
};

/** @throws Refusal not_found */
const loadBlackout = async (ctx: Ctx, id: string): Promise<Loaded<Blackout.Blackout>> => {
  const loaded = await ctx.load(Blackout, id);
  Blackout.assertDeclared(loaded.state);
  return loaded;
};

/** `present` returns the number of the tenant's blackouts, of at most `max`. @throws Refusal invalid, conflict if there are too many */
export const declareBlackout = async (
  ctx: Ctx,
  { tenant_id: _, ...fields }: Input<typeof CronBlackoutCreate, 'tenant_id'>,
  { max, count }: { readonly max: number; readonly count: () => Promise<number> },
): Promise<Loaded<Blackout.Blackout>> => {
  const { agent_id } = fields;
  await checkOnce(ctx, async () => {
    if ((await count()) >= max) throw conflict('', 'too_many', `A tenant has at most ${max} blackouts`);
    if (agent_id !== null) await assertAgent(ctx, agent_id);
  });
  return ctx.transact(Blackout, ctx.newId(), Blackout.declare(fields), { expectNew: true });
};

/** @throws Refusal not_found, invalid */
export const changeBlackout = async (
  ctx: Ctx,
  { tenant_id: _, id, ...changes }: Input<typeof CronBlackoutUpdate, 'tenant_id' | 'id'>,
): Promise<Loaded<Blackout.Blackout>> => {
  await loadBlackout(ctx, id);
  const { agent_id } = changes;
  if (agent_id) await checkOnce(ctx, () => assertAgent(ctx, agent_id));
  return ctx.transact(Blackout, id, Blackout.change(changes));
};

/** @throws Refusal not_found */
export const liftBlackout = (ctx: Ctx, { id }: { readonly id: string }) => ctx.transact(Blackout, id, Blackout.lift);
