/**
 * The cost of a day is compared with those of the days before it: at most HISTORY_DAYS and at least MIN_HISTORY_DAYS of
 * them.
 */
export const HISTORY_DAYS = 30;
const MIN_HISTORY_DAYS = 7;
const ALLOWED_DEVIATIONS = 5;
const MIN_EXCESS_MICROS = 1_000_000;

const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

/**
 * The usual cost of a day, in micro-dollars: the median, and the median absolute deviation (`spread`). A day is unusual
 * if its cost is `floor` or more.
 */
export type UsualCost = { readonly median: number; readonly spread: number; readonly floor: number };

/**
 * Returns the usual cost of a day, computed from the costs of the days before it. The floor is the median plus five
 * times the median absolute deviation plus 1 USD. `history` contains one cost for each day since the first use, with 0
 * for days without cost, for at most 30 days. Returns null if there are fewer than 7 days; then no cost is unusual.
 */
const usualCost = (history: readonly number[]): UsualCost | null => {
  if (history.length < MIN_HISTORY_DAYS) return null;
  const usual = median(history);
  const spread = median(history.map((one) => Math.abs(one - usual)));
  return { median: usual, spread, floor: usual + ALLOWED_DEVIATIONS * spread + MIN_EXCESS_MICROS };
};

/** Returns whether the cost of a day is unusual, compared with the costs of the days before it. */
export const isUnusual = (cost: number, history: readonly number[]): boolean => {
  const usual = usualCost(history);
  return usual !== null && cost >= usual.floor;
};

const DAY_MS = 86_400_000;
const DATE_LENGTH = 'YYYY-MM-DD'.length;

/** Returns the day that is `days` days after `day` (YYYY-MM-DD, UTC). */
export const addDays = (day: string, days: number): string => new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, DATE_LENGTH);

/** A day with an unusual cost, and the usual cost of the days before it. */
export type Anomaly = UsualCost & { readonly day: string; readonly cost: number };

/**
 * Returns the days with an unusual cost, from `from` up to, but not including, `to`. `costs` maps days to costs; a day
 * without an entry had no cost. Days are YYYY-MM-DD.
 */
const anomaliesOf = (costs: ReadonlyMap<string, number>, from: string, to: string): Anomaly[] => {
  const days = [...costs.keys()].sort();
  return days
    .filter((day) => day >= from && day < to)
    .flatMap((day) => {
      const first = days.find((one) => one >= addDays(day, -HISTORY_DAYS) && one < day);
      if (first === undefined) return [];
      const length = (Date.parse(day) - Date.parse(first)) / DAY_MS;
      const usual = usualCost(Array.from({ length }, (_, index) => costs.get(addDays(first, index)) ?? 0));
      const cost = costs.get(day)!;
      return usual !== null && cost >= usual.floor ? [{ ...usual, day, cost }] : [];
    });
};

/** Returns whether any day from `from` up to, but not including, `to` has an unusual cost. */
export const hasUnusualDay = (costs: ReadonlyMap<string, number>, from: string, to: string): boolean =>
  anomaliesOf(costs, from, to).length > 0;

/** Returns the day whose cost exceeds its floor by the largest amount; null if no day is unusual. */
export const largestAnomaly = (costs: ReadonlyMap<string, number>, from: string, to: string): Anomaly | null =>
  anomaliesOf(costs, from, to).toSorted((a, b) => b.cost - b.floor - (a.cost - a.floor))[0] ?? null;
