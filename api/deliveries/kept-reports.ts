import { MAX_SHOWN_REPORTS } from '../../projections/deliveries/delivery-reports.ts';

/**
 * Returns the attempts of a delivery whose reports may have been dropped: those before the first with a report, if as
 * many reports are left as are kept. `attempts` are in their order.
 */
export const withoutKeptReport = <T extends { readonly report: unknown }>(attempts: readonly T[]): ReadonlySet<T> => {
  const kept = attempts.filter(({ report }) => report !== null);
  return new Set(kept.length < MAX_SHOWN_REPORTS ? [] : attempts.slice(0, attempts.indexOf(kept[0]!)));
};
