/** A day is compared with at most HISTORY_DAYS and at least MIN_HISTORY_DAYS days before it. */
export const HISTORY_DAYS = 30;
const MIN_HISTORY_DAYS = 7;
const ALLOWED_DEVIATIONS = 5;
const MIN_EXCESS_MICROS = 1_000_000;

const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

/** Amounts in micro-dollars. `spread`: median absolute deviation. A day is unusual from `floor` on. */
export type UsualCost = { readonly median: number; readonly spread: number; readonly floor: number };

/**
 * Floor: median + 5 × median absolute deviation + 1 USD. `history`: one cost per day since the first use (0 without cost), at most 30.
 * Null if there are fewer than 7 days; then no cost is unusual.
 */
const usualCost = (history: readonly number[]): UsualCost | null => {
  if (history.length < MIN_HISTORY_DAYS) return null;
  const usual = median(history);
  const spread = median(history.map((one) => Math.abs(one - usual)));
  return { median: usual, spread, floor: usual + ALLOWED_DEVIATIONS * spread + MIN_EXCESS_MICROS };
};

export const isUnusual = (cost: number, history: readonly number[]): boolean => {
  const usual = usualCost(history);
  return usual !== null && cost >= usual.floor;
};

const DAY_MS = 86_400_000;
const DATE_LENGTH = 'YYYY-MM-DD'.length;

/** YYYY-MM-DD, UTC. */
export const addDays = (day: string, days: number): string => new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, DATE_LENGTH);

/** `cost` in micro-dollars, on the day YYYY-MM-DD (UTC). */
export type Anomaly = UsualCost & { readonly day: string; readonly cost: number };

/** `to` is exclusive. Days are YYYY-MM-DD; a day without an entry in `costs` had no cost. */
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

/** `to` is exclusive. */
export const hasUnusualDay = (costs: ReadonlyMap<string, number>, from: string, to: string): boolean =>
  anomaliesOf(costs, from, to).length > 0;

/** The day that exceeds its floor by the largest amount. */
export const largestAnomaly = (costs: ReadonlyMap<string, number>, from: string, to: string): Anomaly | null =>
  anomaliesOf(costs, from, to).toSorted((a, b) => b.cost - b.floor - (a.cost - a.floor))[0] ?? null;
