/** How many days before a day its cost is compared with, and how many of them are needed. */
export const HISTORY_DAYS = 30;
const MIN_HISTORY_DAYS = 7;
const ALLOWED_DEVIATIONS = 5;
const MIN_EXCESS_MICROS = 1_000_000;

const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

/** What is usual for the cost of a day. From `floor` on, a cost is unusual. All costs are in micro-dollars. */
export type UsualCost = { readonly median: number; readonly spread: number; readonly floor: number };

/**
 * What is usual after the daily costs in `history`: their median, their median absolute deviation, and a floor of 1 USD
 * above the median and five times the deviation. `history` has the costs of the days since the first use, at most 30,
 * also the days without cost; with fewer than 7 days nothing is unusual: null.
 */
const usualCost = (history: readonly number[]): UsualCost | null => {
  if (history.length < MIN_HISTORY_DAYS) return null;
  const usual = median(history);
  const spread = median(history.map((one) => Math.abs(one - usual)));
  return { median: usual, spread, floor: usual + ALLOWED_DEVIATIONS * spread + MIN_EXCESS_MICROS };
};

/** Whether the cost of a day is unusual, compared with the daily costs before it. */
export const isUnusual = (cost: number, history: readonly number[]): boolean => {
  const usual = usualCost(history);
  return usual !== null && cost >= usual.floor;
};

const DAY_MS = 86_400_000;
const DATE_LENGTH = 'YYYY-MM-DD'.length;

/** The day (YYYY-MM-DD, UTC) that is this number of days after another one. */
export const addDays = (day: string, days: number): string => new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, DATE_LENGTH);

/** A day whose cost was unusual, with what was usual before it. */
export type Anomaly = UsualCost & { readonly day: string; readonly cost: number };

/**
 * Returns the days from `from` to before `to` whose cost is unusual. `costs` has the costs by day; a day without an
 * entry cost nothing. Days are YYYY-MM-DD.
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

/** Whether the cost of any of these days is unusual. */
export const hasUnusualDay = (costs: ReadonlyMap<string, number>, from: string, to: string): boolean =>
  anomaliesOf(costs, from, to).length > 0;

/** Returns the day whose cost is furthest above its floor; null if no day is unusual. */
export const largestAnomaly = (costs: ReadonlyMap<string, number>, from: string, to: string): Anomaly | null =>
  anomaliesOf(costs, from, to).toSorted((a, b) => b.cost - b.floor - (a.cost - a.floor))[0] ?? null;
