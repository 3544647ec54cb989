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

/**
 * Whether the cost of a day is unusual: at least 1 USD above the median plus five times the median absolute deviation
 * of the daily costs before it. `history` has those of the days since the first use, at most 30, also the days without
 * cost; with fewer than 7 days nothing is unusual. All costs are in micro-dollars.
 */
export const isUnusual = (cost: number, history: readonly number[]): boolean => {
  if (history.length < MIN_HISTORY_DAYS) return false;
  const usual = median(history);
  const deviation = median(history.map((one) => Math.abs(one - usual)));
  const bound = usual + ALLOWED_DEVIATIONS * deviation;
  return cost > bound && cost - bound >= MIN_EXCESS_MICROS;
};

const DAY_MS = 86_400_000;
const DATE_LENGTH = 'YYYY-MM-DD'.length;

/** The day (YYYY-MM-DD, UTC) that is this number of days after another one. */
export const addDays = (day: string, days: number): string => new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, DATE_LENGTH);

/**
 * Whether the cost of any day from `from` to before `to` is unusual. `costs` has the costs by day; a day without an
 * entry cost nothing. Days are YYYY-MM-DD.
 */
export const hasUnusualDay = (costs: ReadonlyMap<string, number>, from: string, to: string): boolean => {
  const days = [...costs.keys()].sort();
  return days
    .filter((day) => day >= from && day < to)
    .some((day) => {
      const first = days.find((one) => one >= addDays(day, -HISTORY_DAYS) && one < day);
      if (first === undefined) return false;
      const length = (Date.parse(day) - Date.parse(first)) / DAY_MS;
      const history = Array.from({ length }, (_, index) => costs.get(addDays(first, index)) ?? 0);
      return isUnusual(costs.get(day)!, history);
    });
};
