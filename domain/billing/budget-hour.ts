import type { Recorded } from '../event.ts';
import { type ById, type Transient, withEntry } from '../immutable-record.ts';
import { usdOf } from '../money.ts';
import { conflict, notFound, Refusal } from '../refusal.ts';

/**
 * What an agent spends in one hour (UTC). Each hour of each agent has a stream of its own, so that a new hour starts
 * with the whole budget and nothing has to be reset. All amounts are in micro-dollars.
 */
export const category = 'budget';

/** Events report when this share of the hourly budget, in percent, is spent or reserved. */
export const THRESHOLDS = [80, 100] as const;
export type Threshold = (typeof THRESHOLDS)[number];

/** How many refusals are recorded in an hour. A runner that tries again and again does not fill the log. */
export const MAX_RECORDED_REFUSALS = 100;

type OfHour = { agent_id: string; hour: string };

/** The session and the model for which an amount is reserved, if the runner names them. */
type Purpose = { session_id: string | null; model_id: string | null };

type ReservationFields = Purpose & { reservation_id: string; amount_micros: number; expires_at: string };

/** What the messages of a session have cost in the hour so far. */
export type SessionCost = { readonly session_id: string; readonly cost_micros: number };

export type BudgetEvent =
  | { type: 'BudgetReserved'; data: OfHour & ReservationFields }
  | { type: 'BudgetSettled'; data: OfHour & { reservation_id: string; settled_micros: number } }
  /** Refusals that were recorded at first do not name the reservation. */
  | {
      type: 'BudgetRefused';
      data: OfHour & Purpose & { reservation_id?: string; amount_micros: number; committed_micros: number; limit_micros: number };
    }
  /** `sessions` has the sessions whose cost has grown. */
  | { type: 'BudgetUsageCounted'; data: OfHour & { sessions: readonly SessionCost[] } }
  | { type: 'BudgetThresholdReached'; data: OfHour & { percent: Threshold; committed_micros: number; limit_micros: number } };

/** `settled_micros` is null until the reservation is settled. */
export type Reservation = ReservationFields & { readonly settled_micros: number | null };

export type BudgetHour = {
  readonly reservations: ById<Reservation>;
  /** What the messages of each session have cost. */
  readonly usage: ById<number>;
  readonly refusals: number;
  /** The highest threshold that was reported; 0 if none was. */
  readonly reported: number;
};

export const initial: BudgetHour = { reservations: {}, usage: {}, refusals: 0, reported: 0 };

const withReservation = (hour: BudgetHour, reservation: Reservation, transient?: Transient): BudgetHour => ({
  ...hour,
  reservations: withEntry(hour.reservations, reservation.reservation_id, reservation, transient),
});

const withCosts = (hour: BudgetHour, costs: readonly SessionCost[]): BudgetHour => ({
  ...hour,
  usage: { ...hour.usage, ...Object.fromEntries(costs.map(({ session_id, cost_micros }) => [session_id, cost_micros])) },
});

export const evolve = (hour: BudgetHour, { type, data }: Recorded<BudgetEvent>, transient?: Transient): BudgetHour => {
  switch (type) {
    case 'BudgetReserved': {
      const { agent_id: _, hour: __, ...fields } = data;
      return withReservation(hour, { ...fields, settled_micros: null }, transient);
    }
    case 'BudgetSettled': {
      const { reservation_id, settled_micros } = data;
      return withReservation(hour, { ...hour.reservations[reservation_id]!, settled_micros }, transient);
    }
    case 'BudgetUsageCounted':
      return withCosts(hour, data.sessions);
    case 'BudgetRefused':
      return { ...hour, refusals: hour.refusals + 1 };
    case 'BudgetThresholdReached':
      return { ...hour, reported: Math.max(hour.reported, data.percent) };
  }
};

const HOUR_MS = 3_600_000;

/** The start of the hour (UTC) of a time, both RFC 3339 UTC. */
export const hourOf = (at: string): string => `${at.slice(0, 13)}:00:00.000Z`;

/** When the hour of this time ends, and with it the use of its budget. */
export const hourEnd = (at: string): string => new Date(Date.parse(hourOf(at)) + HOUR_MS).toISOString();

/** The id of an agent's budget hour. `at` is any time in the hour. */
export const budgetHourId = (agent_id: string, at: string): string => `${agent_id}.${at.slice(0, 13)}`;

/** The characters of a reservation id that contain its hour: the number of hours since 1970 in base 36. */
const HOUR_DIGITS = 5;

/** Makes a reservation id of a new id. It contains the hour, so that the id alone leads to the stream. */
export const reservationId = (id: string, at: string): string =>
  `c${Math.floor(Date.parse(at) / HOUR_MS)
    .toString(36)
    .padStart(HOUR_DIGITS, '0')}${id.slice(1 + HOUR_DIGITS)}`;

/** The start of the hour (UTC) in which a reservation with this id was made. */
export const hourOfReservation = (reservation_id: string): string =>
  new Date(Number.parseInt(reservation_id.slice(1, 1 + HOUR_DIGITS), 36) * HOUR_MS).toISOString();

const sumOf = (values: Iterable<number>): number => {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
};

/**
 * What is spent or reserved at a time. An open reservation counts until it expires. A settlement and the messages of
 * the same session report the same money, so per session the larger of both counts. Settlements without a session count
 * in addition.
 */
export const committedMicros = ({ reservations, usage }: BudgetHour, at: string): number => {
  const spent = new Map(Object.entries(usage));
  const settled = new Map<string, number>();
  let others = 0;
  for (const { session_id, amount_micros, settled_micros, expires_at } of Object.values(reservations)) {
    if (settled_micros === null) others += expires_at > at ? amount_micros : 0;
    else if (session_id === null) others += settled_micros;
    else settled.set(session_id, (settled.get(session_id) ?? 0) + settled_micros);
  }
  for (const [session_id, amount] of settled) spent.set(session_id, Math.max(spent.get(session_id) ?? 0, amount));
  return others + sumOf(spent.values());
};

/** The costs that are larger than those that the hour has counted. Costs only grow, so the others are outdated. */
const grown = ({ usage }: BudgetHour, costs: readonly SessionCost[]): SessionCost[] =>
  costs.filter(({ session_id, cost_micros }) => cost_micros > (usage[session_id] ?? 0));

/** An agent with its hourly limit at present (null: none), and the present time. */
export type Budget = { readonly agent_id: string; readonly limit_micros: number | null; readonly at: string };

const exceeded = ({ limit_micros, at }: Budget, committed: number): Refusal => {
  const resets_at = hourEnd(at);
  const limit_usd = usdOf(limit_micros ?? 0);
  const left_usd = usdOf(Math.max(0, (limit_micros ?? 0) - committed));
  return new Refusal('budget_exceeded', `Of the hourly budget of ${limit_usd} USD, ${left_usd} USD are left until ${resets_at}`, {
    retryAfter: (Date.parse(resets_at) - Date.parse(at)) / 1_000,
    members: { limit_usd, left_usd, resets_at },
  });
};

/** Whether the budget of the hour allows nothing more. */
export const isSpent = (hour: BudgetHour, { limit_micros, at }: Budget): boolean =>
  limit_micros !== null && committedMicros(hour, at) >= limit_micros;

/** Checks that the budget of the hour is not used up. @throws Refusal budget_exceeded */
export const assertNotSpent = (hour: BudgetHour, budget: Budget): void => {
  if (isSpent(hour, budget)) throw exceeded(budget, committedMicros(hour, budget.at));
};

/** Reports the thresholds that the hour has reached and that were not reported before. */
const thresholdsOf = (hour: BudgetHour, { agent_id, limit_micros, at }: Budget, start: string): BudgetEvent[] => {
  const committed_micros = committedMicros(hour, at);
  if (limit_micros === null || committed_micros === 0) return [];
  return THRESHOLDS.filter((percent) => percent > hour.reported && committed_micros * 100 >= limit_micros * percent).map((percent) => ({
    type: 'BudgetThresholdReached',
    data: { agent_id, hour: start, percent, committed_micros, limit_micros },
  }));
};

/** What a runner asks for. `costs`: what the messages of its session have cost, as far as the caller knows. */
export type Request = ReservationFields & { readonly costs: readonly SessionCost[] };

/**
 * Reserves an amount of the budget. The same reservation again changes nothing.
 * @throws Refusal budget_exceeded if more than the limit would be spent or reserved
 */
export const reserve =
  ({ costs, ...fields }: Request, budget: Budget) =>
  (hour: BudgetHour): BudgetEvent[] => {
    if (hour.reservations[fields.reservation_id]) return [];
    const { agent_id, limit_micros, at } = budget;
    const known = withCosts(hour, grown(hour, costs));
    const committed = committedMicros(known, at);
    if (limit_micros !== null && committed + fields.amount_micros > limit_micros) throw exceeded(budget, committed);
    const start = hourOf(at);
    const after = withReservation(known, { ...fields, settled_micros: null });
    return [{ type: 'BudgetReserved', data: { agent_id, hour: start, ...fields } }, ...thresholdsOf(after, budget, start)];
  };

/** Records that a reservation was refused, unless many refusals of the hour are recorded already. */
export const recordRefusal =
  ({ reservation_id, session_id, model_id, amount_micros, costs }: Omit<Request, 'expires_at'>, { agent_id, limit_micros, at }: Budget) =>
  (hour: BudgetHour): BudgetEvent[] => {
    if (hour.refusals >= MAX_RECORDED_REFUSALS) return [];
    const committed_micros = committedMicros(withCosts(hour, grown(hour, costs)), at);
    const asked = { reservation_id, session_id, model_id, amount_micros };
    const data = { agent_id, hour: hourOf(at), ...asked, committed_micros, limit_micros: limit_micros ?? 0 };
    return [{ type: 'BudgetRefused', data }];
  };

/**
 * Settles a reservation with the amount that was spent, also after it has expired: the money is spent in any case. The
 * same settlement again changes nothing.
 * @throws Refusal not_found, conflict if it was settled with another amount
 */
export const settle =
  (reservation_id: string, settled_micros: number, budget: Budget) =>
  (hour: BudgetHour): BudgetEvent[] => {
    const reservation = hour.reservations[reservation_id];
    if (!reservation) throw notFound();
    if (reservation.settled_micros === settled_micros) return [];
    if (reservation.settled_micros !== null)
      throw conflict('/amount_usd', 'already_settled', `The reservation is settled with ${usdOf(reservation.settled_micros)} USD`);
    const start = hourOfReservation(reservation_id);
    const after = withReservation(hour, { ...reservation, settled_micros });
    const data = { agent_id: budget.agent_id, hour: start, reservation_id, settled_micros };
    return [{ type: 'BudgetSettled', data }, ...thresholdsOf(after, budget, start)];
  };

/**
 * Counts what the messages of sessions have cost. `costs` has totals of the hour, so that a repeat counts nothing
 * twice.
 */
export const countUsage =
  (costs: readonly SessionCost[], budget: Budget, start: string) =>
  (hour: BudgetHour): BudgetEvent[] => {
    const sessions = grown(hour, costs);
    const { agent_id } = budget;
    const counted: BudgetEvent[] = sessions.length > 0 ? [{ type: 'BudgetUsageCounted', data: { agent_id, hour: start, sessions } }] : [];
    return [...counted, ...thresholdsOf(withCosts(hour, sessions), budget, start)];
  };
