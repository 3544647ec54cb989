import type { z } from 'zod';
import * as BudgetHour from '../../domain/billing/budget-hour.ts';
import { usdOf } from '../../domain/money.ts';
import type { HeldDeliveries } from '../../projections/deliveries/held-groups.queries.ts';
import type { WebhookIntegrationRead } from '../../projections/integrations/integration.ts';
import {
  expiringKeys,
  limitedAgents,
  missedRuns,
  overlappingSecrets,
  silentIntegrations,
} from '../../projections/tenants/attention.queries.ts';
import { visibleAgents } from '../agents/readable-agents.ts';
import type { Ctx } from '../http/operation.ts';
import { openApprovals } from '../sessions/approvals.ts';
import { atAgent, type Found, NO_DETAILS } from './attention-deliveries.ts';
import { before } from './overview-figures.ts';

const DAY_MS = 86_400_000;
/** How long before its end an API key needs attention, and for how long after it. */
const [KEY_NOTICE_MS, KEY_OVER_MS] = [7 * DAY_MS, DAY_MS];
/** An integration without a delivery for this time has fallen silent. After a week, it counts as no longer in use. */
const [SILENT_MS, UNUSED_MS] = [DAY_MS, 8 * DAY_MS];
/** The share of its limit, in percent, from which a budget is nearly spent. */
const [NEAR_PERCENT] = BudgetHour.THRESHOLDS;
const MAX_APPROVALS = 20;

const DOLLARS = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 6 });
const dollars = (micros: number): string => `$${DOLLARS.format(usdOf(micros))}`;

/** `held` are the deliveries that something holds: those that a budget holds are counted with it. */
const budgetsToWatch = async (ctx: Ctx, agent_ids: readonly string[] | undefined, held: readonly HeldDeliveries[]): Promise<Found[]> => {
  const at = ctx.at();
  const agents = await limitedAgents(ctx.reads, { tenant_id: ctx.tenant, agent_ids });
  const found = agents.map(async ({ id, hourly_limit_micros: limit }): Promise<Found[]> => {
    const { state } = await ctx.load(BudgetHour, BudgetHour.budgetHourId(id, at));
    const used = BudgetHour.committedMicros(state, at);
    if (limit === null || used * 100 < limit * NEAR_PERCENT) return [];
    const isSpent = used >= limit;
    return [
      atAgent(id, {
        ...{ kind: isSpent ? 'budget_spent' : 'budget_near', severity: isSpent ? 'warning' : 'info' },
        count: held.reduce((sum, one) => sum + (one.agent_id === id && one.reason === 'budget' ? one.count : 0), 0),
        ...{ since: BudgetHour.hourOf(at), until: BudgetHour.hourEnd(at) },
        reason: `${dollars(used)} of ${dollars(limit)} this hour`,
      }),
    ];
  });
  return (await Promise.all(found)).flat();
};

const missedCronRuns = async (ctx: Ctx, agent_ids: readonly string[] | undefined): Promise<Found[]> =>
  (await missedRuns(ctx.reads, { tenant_id: ctx.tenant, agent_ids, from: before(ctx.at(), DAY_MS) })).map(
    ({ id, agent_id, name, count, since }) => ({
      ...{ ...NO_DETAILS, kind: 'cron_missed', severity: 'warning', count, since, agent_id },
      subject: { type: 'cron_job', id, name: name! },
    }),
  );

type Stored = Pick<z.output<typeof WebhookIntegrationRead>, 'secret_rotated_at' | 'last_delivery_on_previous_secret_at'>;

const secretOverlaps = async (ctx: Ctx): Promise<Found[]> =>
  (await overlappingSecrets(ctx.reads, ctx.tenant, ctx.at())).map(({ id, label, doc, until }) => {
    const { secret_rotated_at: rotated, last_delivery_on_previous_secret_at: used } = JSON.parse(doc!) as Stored;
    const isUsed = used !== null && (rotated === null || used > rotated);
    return {
      ...{ ...NO_DETAILS, kind: 'secret_overlap', severity: 'info', count: 1, since: rotated, until },
      reason: isUsed ? 'The sender still signs with the previous secret' : 'The previous secret has not been used since the rotation',
      subject: { type: 'integration', id, name: label! },
    };
  });

const silent = async (ctx: Ctx): Promise<Found[]> => {
  const at = ctx.at();
  const period = { after: before(at, UNUSED_MS), before: before(at, SILENT_MS) };
  return (await silentIntegrations(ctx.reads, { tenant_id: ctx.tenant, ...period })).map(({ id, label, since }) => ({
    ...{ ...NO_DETAILS, kind: 'integration_silent', severity: 'warning', count: 1, since },
    subject: { type: 'integration', id, name: label! },
  }));
};

const keys = async (ctx: Ctx): Promise<Found[]> => {
  const at = ctx.at();
  const period = { from: before(at, KEY_OVER_MS), to: before(at, -KEY_NOTICE_MS) };
  return (await expiringKeys(ctx.reads, { tenant_id: ctx.tenant, ...period })).map(({ id, name, expires_at }) => ({
    ...{ ...NO_DETAILS, kind: 'api_key_expiring', severity: 'info', count: 1, since: null, until: expires_at },
    reason: expires_at! <= at ? 'It has expired' : null,
    subject: { type: 'api_key', id, name: name! },
  }));
};

const approvals = async (ctx: Ctx): Promise<Found[]> =>
  (await openApprovals(ctx, MAX_APPROVALS)).map(({ id, session_id, agent_id, action, created_at, expires_at }) => ({
    ...atAgent(agent_id, { kind: 'approval_open', severity: 'warning', count: 1, since: created_at, until: expires_at }),
    ...{ reason: action, example_id: id, subject: { type: 'session', id: session_id } },
  }));

/** Returns what needs attention apart from deliveries, as far as the caller may see it. `held` are the held deliveries. */
export const settingsAttention = async (ctx: Ctx, held: readonly HeldDeliveries[]): Promise<Found[]> => {
  const [agent_ids, mayReadIntegrations, maySeeKeys] = await Promise.all([
    visibleAgents(ctx),
    ctx.may('tenant:integrations:read'),
    ctx.may('tenant:keys:write'),
  ]);
  const found = await Promise.all([
    budgetsToWatch(ctx, agent_ids, held),
    missedCronRuns(ctx, agent_ids),
    mayReadIntegrations ? secretOverlaps(ctx) : [],
    mayReadIntegrations ? silent(ctx) : [],
    maySeeKeys ? keys(ctx) : [],
    approvals(ctx),
  ]);
  return found.flat();
};
