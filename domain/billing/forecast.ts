/** Whole days before today from which a forecast takes the costs. */
export const FORECAST_DAYS = 7;
const DAY_MS = 86_400_000;

type Known = {
  /** Includes today. */
  readonly spent: number;
  /** The tenant's first use of a model (YYYY-MM-DD, UTC). */
  readonly first: string | undefined;
  /** Costs by day before today; a day without an entry had no cost. */
  readonly recent: ReadonlyMap<string, number>;
  readonly now: string;
  /** Exclusive. */
  readonly end: string;
};

/**
 * Costs at the end of the period if the rest costs as much per day as the last seven whole days (or those since the first use). Null if
 * there was no use before today.
 */
export const forecastOf = ({ spent, first, recent, now, end }: Known): number | null => {
  const today = Date.parse(now.slice(0, 'YYYY-MM-DD'.length));
  const days = first === undefined ? 0 : Math.min(FORECAST_DAYS, (today - Date.parse(first)) / DAY_MS);
  if (days < 1) return null;
  const sum = [...recent.values()].reduce((total, cost) => total + cost, 0);
  return Math.round(spent + (sum / days) * ((Date.parse(end) - Date.parse(now)) / DAY_MS));
};
