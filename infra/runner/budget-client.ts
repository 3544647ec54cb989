import type { z } from 'zod';
import type { BudgetReservation } from '../../api/billing/budget.ts';
import type { BudgetReserve } from '../../commands/billing/budget.ts';
import { type Client, poster } from './session-client.ts';

export type Reservation = z.output<typeof BudgetReservation>;
export type NewReservation = z.input<typeof BudgetReserve>;

/** A part of the agent's hourly budget that a runner has reserved. */
export type RunnerReservation = {
  readonly id: string;
  readonly reserved: Reservation;
  /** Replaces the reserved amount by the spent one, in US dollars. */
  readonly settle: (amount_usd: number) => Promise<Reservation>;
};

/**
 * Reserves a part of the budget of this hour.
 * @throws BudgetExceeded if the sum of what is spent and reserved would exceed the budget
 */
export const reserveBudget = async (client: Client, reservation: NewReservation): Promise<RunnerReservation> => {
  const { tenant, agent } = client.agent;
  const post = poster(client);
  const reserved = await post<Reservation>(`/tenant/${tenant}/agents/${agent}/budget/reserve`, reservation);
  const settle = (amount_usd: number): Promise<Reservation> =>
    post(`/tenant/${tenant}/budget-reservations/${reserved.id}/settle`, { amount_usd });
  return { id: reserved.id, reserved, settle };
};
