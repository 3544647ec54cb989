/** What clocks show: the date (YYYY-MM-DD), the time of day with milliseconds, and the offset from UTC (`+01:00`). */
export type LocalTime = { readonly date: string; readonly time: string; readonly offset: string };

/** Returns what clocks in a time zone show at a time (RFC 3339). */
export const localTimeOf = (at: string, zone: string): LocalTime => {
  if (zone === 'UTC') {
    const [date = '', time = ''] = new Date(at).toISOString().split('T');
    return { date, time: time.slice(0, -1), offset: '+00:00' };
  }
  const local = Temporal.Instant.from(new Date(at).toISOString()).toZonedDateTimeISO(zone);
  return {
    date: local.toPlainDate().toString(),
    time: local.toPlainTime().toString({ smallestUnit: 'millisecond' }),
    offset: local.offset,
  };
};

/** A change of the clocks in a time zone: at `at` (RFC 3339), they go from one local time to another. */
export type ClockChange = { readonly at: string; readonly from: string; readonly to: string };

/** Returns the next changes of the clocks in a time zone after a time, at most `count`. */
export const clockChangesAfter = (after: string, zone: string, count: number): readonly ClockChange[] => {
  const changes: ClockChange[] = [];
  let next = Temporal.Instant.from(after).toZonedDateTimeISO(zone).getTimeZoneTransition('next');
  for (; next && changes.length < count; next = next.getTimeZoneTransition('next')) {
    const to = next.toPlainDateTime();
    const shift = next.offsetNanoseconds - next.subtract({ nanoseconds: 1 }).offsetNanoseconds;
    const from = to.subtract({ nanoseconds: shift });
    if (shift !== 0)
      changes.push({
        at: new Date(next.epochMilliseconds).toISOString(),
        from: from.toString({ smallestUnit: 'second' }),
        to: to.toString({ smallestUnit: 'second' }),
      });
  }
  return changes;
};
