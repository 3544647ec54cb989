import { z } from 'zod';
import { requireRunner } from '../../commands/access/require-runner.ts';
import { BudgetReserve, BudgetSettle, requireOwnReservation, reserveBudget, settleBudget } from '../../commands/billing/budget.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { operation } from '../http/operation.ts';

export const BudgetReservation = z
  .object({
    id: idOf('budget reservation'),
    agent_id: idOf('agent'),
    hour: Timestamp.meta({ description: 'The start of the hour (UTC) of whose budget it is', examples: ['2026-03-14T09:00:00.000Z'] }),
    amount_usd: z.number().meta({ description: 'The amount that is reserved, in US dollars', examples: [0.5] }),
    settled_usd: z
      .number()
      .nullable()
      .meta({ description: 'What was spent, in US dollars; null until the reservation is settled', examples: [null] }),
    expires_at: Timestamp.meta({ description: 'When the reservation ends by itself unless it was settled before' }),
  })
  .meta({ id: 'BudgetReservation' });

export const budgetOperations = {
  reserveBudget: operation({
    method: 'post',
    path: '/tenant/:tenant_id/agents/:agent_id/budget/reserve',
    summary: "Reserve a part of an agent's hourly budget",
    details:
      'Refused with 429 if more than the limit would be spent or reserved in this hour (UTC); `Retry-After` is then the time until the hour ends. Without a limit, every reservation is granted.',
    permit: { all: ['agent:read'], runner: true },
    permissionNote: "Requires the agent's runner key.",
    preauthorize: (ctx, { agent_id }) => requireRunner(ctx, agent_id!),
    body: BudgetReserve,
    reply: BudgetReservation,
    status: 201,
    run: reserveBudget,
  }),
  settleBudget: operation({
    method: 'post',
    path: '/tenant/:tenant_id/budget-reservations/:reservation_id/settle',
    summary: 'Settle a reservation of a budget',
    details:
      'The amount that was spent replaces the reserved one, even if it is larger or the reservation has expired. The same request again changes nothing; another amount is refused with 409.',
    permit: 'any',
    permissionNote: 'Requires the runner key of the agent that has reserved; any other caller gets 404.',
    preauthorize: (ctx, { reservation_id }) => requireOwnReservation(ctx, reservation_id!),
    body: BudgetSettle,
    reply: BudgetReservation,
    run: settleBudget,
  }),
};
