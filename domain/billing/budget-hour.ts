import type { Recorded } from '../event.ts';
import { type ById, type Transient, withEntry } from '../immutable-record.ts';
import { usdOf } from '../money.ts';
import { omit } from '../omit.ts';
import { conflict, notFound, Refusal } from '../refusal.ts';

/**
 * The spending of an agent in one hour (UTC), in micro-dollars. A stream per hour: each hour starts with the whole budget, and nothing has
 * to be reset.
 */
export const category = 'budget';

/** In percent of the hourly budget, spent or reserved; reaching one records an event. */
export const THRESHOLDS = [80, 100] as const;
export type Threshold = (typeof THRESHOLDS)[number];

/** Refused reservations, and refused sessions, per hour: a runner that tries again and again does not fill the log. */
export const MAX_RECORDED_REFUSALS = 100;

type OfHour = { agent_id: string; hour: string };

/** Each is null if the runner does not name it. */
type Purpose = { session_id: string | null; model_id: string | null };

type ReservationFields = Purpose & { reservation_id: string; amount_micros: number; expires_at: string };

/** The cost of the session's messages in this hour, so far. */
export type SessionCost = { readonly session_id: string; readonly cost_micros: number };

export type BudgetEvent =
  | { type: 'BudgetReserved'; data: OfHour & ReservationFields }
  | { type: 'BudgetSettled'; data: OfHour & { reservation_id: string; settled_micros: number } }
  /** Events of earlier versions have no `reservation_id`. */
  | {
      type: 'BudgetRefused';
      data: OfHour & Purpose & { reservation_id?: string; amount_micros: number; committed_micros: number; limit_micros: number };
    }
  /** `sessions`: those whose cost has increased, with the new cost. */
  | { type: 'BudgetUsageCounted'; data: OfHour & { sessions: readonly SessionCost[] } }
  /** The whole budget of the hour was spent or reserved. */
  | { type: 'BudgetSessionRefused'; data: OfHour & { committed_micros: number; limit_micros: number } }
  | { type: 'BudgetThresholdReached'; data: OfHour & { percent: Threshold; committed_micros: number; limit_micros: number } };

/** `settled_micros` is null until the reservation is settled. */
export type Reservation = ReservationFields & { readonly settled_micros: number | null };

export type BudgetHour = {
  readonly reservations: ById<Reservation>;
  /** By session id: the cost of its messages in this hour. */
  readonly usage: ById<number>;
  readonly refusals: number;
  readonly refused_sessions: number;
  /** The highest threshold, in percent, that was recorded; 0 if none was. */
  readonly reported: number;
};

export const initial: BudgetHour = { reservations: {}, usage: {}, refusals: 0, refused_sessions: 0, reported: 0 };

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
      const fields = omit(data, 'agent_id', 'hour');
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
    case 'BudgetSessionRefused':
      return { ...hour, refused_sessions: hour.refused_sessions + 1 };
    case 'BudgetThresholdReached':
      return { ...hour, reported: Math.max(hour.reported, data.percent) };
  }
};

const HOUR_MS = 3_600_000;

/** RFC 3339 UTC. */
export const hourOf = (at: string): string => `${at.slice(0, 13)}:00:00.000Z`;

/** RFC 3339 UTC. Every reservation of the hour expires then or earlier. */
export const hourEnd = (at: string): string => new Date(Date.parse(hourOf(at)) + HOUR_MS).toISOString();

/** `at` is any time in the hour. */
export const budgetHourId = (agent_id: string, at: string): string => `${agent_id}.${at.slice(0, 13)}`;

/** A reservation id contains its hour in this many characters: hours since 1970, in base 36. */
const HOUR_DIGITS = 5;

/** The hour of `at` replaces characters of a new id after the first one: so agent id and reservation id yield the stream. */
export const reservationId = (id: string, at: string): string =>
  `c${Math.floor(Date.parse(at) / HOUR_MS)
    .toString(36)
    .padStart(HOUR_DIGITS, '0')}${id.slice(1 + HOUR_DIGITS)}`;

export const hourOfReservation = (reservation_id: string): string =>
  new Date(Number.parseInt(reservation_id.slice(1, 1 + HOUR_DIGITS), 36) * HOUR_MS).toISOString();

/**
 * In micro-dollars. `open`: reservations neither settled nor expired. `settled`: amounts of settlements. `sessions`: what messages cost
 * beyond the settlements of their sessions, because both report the same spending.
 */
export type Commitment = { readonly open: number; readonly settled: number; readonly sessions: number };

export const commitmentOf = ({ reservations, usage }: BudgetHour, at: string): Commitment => {
  const settledOf = new Map<string, number>();
  let [open, settled, sessions] = [0, 0, 0];
  for (const { session_id, amount_micros, settled_micros, expires_at } of Object.values(reservations)) {
    if (settled_micros === null) open += expires_at > at ? amount_micros : 0;
    else settled += settled_micros;
    if (session_id !== null) settledOf.set(session_id, (settledOf.get(session_id) ?? 0) + (settled_micros ?? 0));
  }
  for (const [session_id, cost] of Object.entries(usage)) sessions += Math.max(0, cost - (settledOf.get(session_id) ?? 0));
  return { open, settled, sessions };
};

export const committedMicros = (hour: BudgetHour, at: string): number => {
  const { open, settled, sessions } = commitmentOf(hour, at);
  return open + settled + sessions;
};

/** A session's cost only increases: one that is not higher than the recorded cost is outdated. */
const grown = ({ usage }: BudgetHour, costs: readonly SessionCost[]): SessionCost[] =>
  costs.filter(({ session_id, cost_micros }) => cost_micros > (usage[session_id] ?? 0));

/** The present limit (null: no limit) and time. */
export type Budget = { readonly agent_id: string; readonly limit_micros: number | null; readonly at: string };

const exceeded = ({ limit_micros, at }: Budget, committed: number): Refusal => {
  const resets_at = hourEnd(at);
  const limit_usd = usdOf(limit_micros ?? 0);
  const left_usd = usdOf(Math.max(0, (limit_micros ?? 0) - committed));
  return new Refusal('budget_exceeded', `Only ${left_usd} USD of the hourly budget of ${limit_usd} USD are left until ${resets_at}`, {
    retryAfter: (Date.parse(resets_at) - Date.parse(at)) / 1_000,
    members: { limit_usd, left_usd, resets_at },
  });
};

export const isSpent = (hour: BudgetHour, { limit_micros, at }: Budget): boolean =>
  limit_micros !== null && committedMicros(hour, at) >= limit_micros;

/** @throws Refusal budget_exceeded */
export const assertNotSpent = (hour: BudgetHour, budget: Budget): void => {
  if (isSpent(hour, budget)) throw exceeded(budget, committedMicros(hour, budget.at));
};

/** Does nothing if the budget is not spent any more, or if MAX_RECORDED_REFUSALS are already recorded in this hour. */
export const refuseSession =
  (budget: Budget) =>
  (hour: BudgetHour): BudgetEvent[] => {
    const { agent_id, limit_micros, at } = budget;
    if (hour.refused_sessions >= MAX_RECORDED_REFUSALS || limit_micros === null || !isSpent(hour, budget)) return [];
    const data = { agent_id, hour: hourOf(at), committed_micros: committedMicros(hour, at), limit_micros };
    return [{ type: 'BudgetSessionRefused', data }];
  };

/** One for each threshold that is reached in this hour and not yet recorded. */
const thresholdsOf = (hour: BudgetHour, { agent_id, limit_micros, at }: Budget, start: string): BudgetEvent[] => {
  const committed_micros = committedMicros(hour, at);
  if (limit_micros === null || committed_micros === 0) return [];
  return THRESHOLDS.filter((percent) => percent > hour.reported && committed_micros * 100 >= limit_micros * percent).map((percent) => ({
    type: 'BudgetThresholdReached',
    data: { agent_id, hour: start, percent, committed_micros, limit_micros },
  }));
};

/** `costs`: the known costs of the messages of its session. */
export type Request = ReservationFields & { readonly costs: readonly SessionCost[] };

/** Does nothing if the id exists. @throws Refusal budget_exceeded if more than the limit would be spent or reserved */
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

/** Does nothing if MAX_RECORDED_REFUSALS are already recorded in this hour. */
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
 * Settles a reservation, even after it expired, because the money has been spent. Repeating the same amount does nothing.
 * @throws Refusal not_found, conflict if it was settled with another amount
 */
export const settle =
  (reservation_id: string, settled_micros: number, budget: Budget) =>
  (hour: BudgetHour): BudgetEvent[] => {
    const reservation = hour.reservations[reservation_id];
    if (!reservation) throw notFound();
    if (reservation.settled_micros === settled_micros) return [];
    if (reservation.settled_micros !== null)
      throw conflict('/amount_usd', 'already_settled', `The reservation is already settled, with ${usdOf(reservation.settled_micros)} USD`);
    const start = hourOfReservation(reservation_id);
    const after = withReservation(hour, { ...reservation, settled_micros });
    const data = { agent_id: budget.agent_id, hour: start, reservation_id, settled_micros };
    return [{ type: 'BudgetSettled', data }, ...thresholdsOf(after, budget, start)];
  };

/** `costs` are totals in this hour, so recording them twice changes nothing. */
export const countUsage =
  (costs: readonly SessionCost[], budget: Budget, start: string) =>
  (hour: BudgetHour): BudgetEvent[] => {
    const sessions = grown(hour, costs);
    const { agent_id } = budget;
    const counted: BudgetEvent[] = sessions.length > 0 ? [{ type: 'BudgetUsageCounted', data: { agent_id, hour: start, sessions } }] : [];
    return [...counted, ...thresholdsOf(withCosts(hour, sessions), budget, start)];
  };
