/** How many whole days before today a forecast takes the costs from. */
export const FORECAST_DAYS = 7;
const DAY_MS = 86_400_000;

type Known = {
  /** The costs so far in the period, including those of today. */
  readonly spent: number;
  /** The first day (YYYY-MM-DD, UTC) on which the tenant used a model; undefined if it never did. */
  readonly first: string | undefined;
  /** The costs by day of the last days before today. A day without an entry had no cost. */
  readonly recent: ReadonlyMap<string, number>;
  readonly now: string;
  /** The end of the period, exclusive. */
  readonly end: string;
};

/**
 * Returns what the period will have cost at its end, in the unit of the costs, if its rest costs as much per day as the
 * last seven whole days; of a tenant that is newer, as those since its first use. Null if there was no use before today.
 */
export const forecastOf = ({ spent, first, recent, now, end }: Known): number | null => {
  const today = Date.parse(now.slice(0, 'YYYY-MM-DD'.length));
  const days = first === undefined ? 0 : Math.min(FORECAST_DAYS, (today - Date.parse(first)) / DAY_MS);
  if (days < 1) return null;
  const sum = [...recent.values()].reduce((total, cost) => total + cost, 0);
  return Math.round(spent + (sum / days) * ((Date.parse(end) - Date.parse(now)) / DAY_MS));
};
