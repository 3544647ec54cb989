/**
 * Returns whether this is the name of a time zone. Offsets such as `+01:00`, which `Intl` accepts, too, are not: they
 * have no daylight saving time.
 */
export const isTimeZone = (name: string): boolean => {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
};

/** Converts a point in time to RFC 3339 in UTC with milliseconds. */
const textOf = (instant: { readonly epochMilliseconds: number }): string => new Date(instant.epochMilliseconds).toISOString();

/**
 * Returns the instant at which clocks in `zone` show the local time `local` (YYYY-MM-DDTHH:MM[:SS]). If they show it
 * twice, returns the first instant. If they skip it, returns the instant at which they do.
 */
export const instantOf = (local: string, zone: string): string => {
  const wanted = Temporal.PlainDateTime.from(local);
  const found = wanted.toZonedDateTime(zone, { disambiguation: 'earlier' });
  if (found.toPlainDateTime().equals(wanted)) return textOf(found);
  return textOf(found.getTimeZoneTransition('next')!);
};

/** Returns by how many milliseconds local time in `zone` is ahead of UTC at `instant` (RFC 3339). */
export const offsetAt = (instant: string, zone: string): number =>
  Temporal.Instant.from(instant).toZonedDateTimeISO(zone).offsetNanoseconds / 1e6;

/** Returns the instant of the first clock change in `zone` after `instant`; null if there is none. */
export const clockChangeAfter = (instant: string, zone: string): string | null => {
  const found = Temporal.Instant.from(instant).toZonedDateTimeISO(zone).getTimeZoneTransition('next');
  return found && textOf(found);
};

/**
 * Returns the local time that clocks in `zone` show at `instant` (RFC 3339), as YYYY-MM-DDTHH:MM:SS without fractions
 * of a second.
 */
export const localTimeOf = (instant: string, zone: string): string =>
  Temporal.Instant.from(instant).toZonedDateTimeISO(zone).toPlainDateTime().toString({ smallestUnit: 'second', roundingMode: 'floor' });
