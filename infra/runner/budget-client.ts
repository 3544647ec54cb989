import type { NewReservation, Reservation } from './api-types.ts';
import type { RunnerReservation } from './runner-session.ts';
import { type Client, poster } from './session-client.ts';

/** Reserves for this hour. @throws BudgetExceeded if the sum of what is spent and reserved would exceed the budget */
export const reserveBudget = async (client: Client, reservation: NewReservation): Promise<RunnerReservation> => {
  const { tenant, agent } = client.agent;
  const post = poster(client);
  const reserved = await post<Reservation>(`/tenant/${tenant}/agents/${agent}/budget/reserve`, reservation);
  const settle = (amount_usd: number): Promise<Reservation> =>
    post(`/tenant/${tenant}/budget-reservations/${reserved.id}/settle`, { amount_usd });
  return { id: reserved.id, reserved, settle };
};
