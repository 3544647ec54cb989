/** Offsets such as `+01:00`, which `Intl` accepts, too, are not time zones: they have no daylight saving time. */
export const isTimeZone = (name: string): boolean => {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
};

/** RFC 3339 in UTC with milliseconds. */
const textOf = (instant: { readonly epochMilliseconds: number }): string => new Date(instant.epochMilliseconds).toISOString();

/** `local` is YYYY-MM-DDTHH:MM[:SS]. The first instant if clocks in `zone` show it twice; if they skip it, the instant at which they do. */
export const instantOf = (local: string, zone: string): string => {
  const wanted = Temporal.PlainDateTime.from(local);
  const found = wanted.toZonedDateTime(zone, { disambiguation: 'earlier' });
  if (found.toPlainDateTime().equals(wanted)) return textOf(found);
  return textOf(found.getTimeZoneTransition('next')!);
};

/** Milliseconds ahead of UTC at `instant` (RFC 3339). */
export const offsetAt = (instant: string, zone: string): number =>
  Temporal.Instant.from(instant).toZonedDateTimeISO(zone).offsetNanoseconds / 1e6;

export const clockChangeAfter = (instant: string, zone: string): string | null => {
  const found = Temporal.Instant.from(instant).toZonedDateTimeISO(zone).getTimeZoneTransition('next');
  return found && textOf(found);
};

/** YYYY-MM-DDTHH:MM:SS, without fractions of a second; `instant` is RFC 3339. */
export const localTimeOf = (instant: string, zone: string): string =>
  Temporal.Instant.from(instant).toZonedDateTimeISO(zone).toPlainDateTime().toString({ smallestUnit: 'second', roundingMode: 'floor' });
