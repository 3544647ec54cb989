import { z } from 'zod';
import * as BudgetHour from '../../domain/billing/budget-hour.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { usdOf } from '../../domain/money.ts';
import { agents } from '../../projections/agents/agent.ts';
import { limitedAgents, MAX_BUDGETS } from '../../projections/tenants/attention.queries.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { visibleAgents } from './readable-agents.ts';

const usd = (description: string, example: number) => z.number().meta({ description, examples: [example] });

const refused = (what: string) =>
  z.int().meta({ description: `How many ${what} were refused in this hour; at most 100 are recorded`, examples: [0] });

const BudgetState = z
  .object({
    agent_id: idOf('agent'),
    agent_name: z.string().meta({ description: 'The name of the agent', examples: ['Reviewer'] }),
    state: z.enum(['ok', 'near', 'stopped']).meta({ description: '`near`: at least 80 percent are used; `stopped`: all of it is' }),
    limit_usd: usd('The hourly limit', 5),
    used_usd: usd('What is used in this hour: sessions, settled and open reservations', 1.2),
    sessions_usd: usd('What the messages of sessions cost beyond the settlements of these sessions', 0.2),
    settled_usd: usd('The amounts with which reservations were settled', 0.5),
    reserved_usd: usd('What reservations hold that are neither settled nor expired', 0.5),
    left_usd: usd('What is left of the limit', 3.8),
    refused_sessions: refused('sessions'),
    refused_reservations: refused('reservations'),
    resets_at: Timestamp.meta({ description: 'When the next hour (UTC) begins, with the whole budget' }),
  })
  .meta({ id: 'BudgetState' });

export { MAX_BUDGETS };

type Limited = Awaited<ReturnType<typeof limitedAgents>>[number];

const stateOf = async (ctx: Ctx, { id, name, hourly_limit_micros }: Limited): Promise<z.output<typeof BudgetState>> => {
  const at = ctx.at();
  const limit = hourly_limit_micros ?? 0;
  const { state: hour } = await ctx.load(BudgetHour, BudgetHour.budgetHourId(id, at));
  const { open, settled, sessions } = BudgetHour.commitmentOf(hour, at);
  const used = open + settled + sessions;
  const isNear = used * 100 >= limit * BudgetHour.THRESHOLDS[0];
  return {
    ...{ agent_id: id, agent_name: name!, state: used >= limit ? 'stopped' : isNear ? 'near' : 'ok' },
    ...{ limit_usd: usdOf(limit), used_usd: usdOf(used), left_usd: usdOf(Math.max(0, limit - used)) },
    ...{ sessions_usd: usdOf(sessions), settled_usd: usdOf(settled), reserved_usd: usdOf(open) },
    ...{ refused_sessions: hour.refused_sessions, refused_reservations: hour.refusals, resets_at: BudgetHour.hourEnd(at) },
  };
};

const shareOf = ({ used_usd, limit_usd }: z.output<typeof BudgetState>): number =>
  limit_usd === 0 ? Number.POSITIVE_INFINITY : used_usd / limit_usd;

const listBudgets = async (ctx: Ctx) => {
  const limited = await limitedAgents(ctx.reads, { tenant_id: ctx.tenant, agent_ids: await visibleAgents(ctx) });
  const states = await Promise.all(limited.map((agent) => stateOf(ctx, agent)));
  const fullest = states.toSorted((one, other) => shareOf(other) - shareOf(one) || one.agent_name.localeCompare(other.agent_name));
  return { body: JSON.stringify(z.array(BudgetState).parse(fullest)), next: null };
};

export const budgetStateOperations = {
  listBudgets: operation({
    method: 'get',
    path: '/tenant/:tenant_id/budgets',
    summary: 'List the use of hourly budgets',
    details: `Those agents that have a limit and that the caller may see, the fullest first: at most ${MAX_BUDGETS}, the active ones and those that changed last before others.`,
    permit: 'tenant:read',
    query: z.strictObject({}),
    reply: z.array(BudgetState),
    projection: agents.name,
    noETag: true,
    run: listBudgets,
  }),
};
