/** What clocks show: the date (YYYY-MM-DD), the time of day with milliseconds, and the offset from UTC (`+01:00`). */
export type LocalTime = { readonly date: string; readonly time: string; readonly offset: string };

/** Clocks change only at the start of such a part of an hour. */
const QUARTER_MS = 900_000;
const MAX_OFFSETS = 10_000;

type Offset = { readonly text: string; readonly ms: number };

const offsets = new Map<string, Offset>();

/** Returns the offset of a time zone at a time. Finding it takes long, so it is remembered for each quarter of an hour. */
const offsetOf = (ms: number, zone: string): Offset => {
  const quarter = Math.floor(ms / QUARTER_MS);
  const key = `${quarter} ${zone}`;
  const known = offsets.get(key);
  if (known) return known;
  const local = Temporal.Instant.fromEpochMilliseconds(quarter * QUARTER_MS).toZonedDateTimeISO(zone);
  const offset = { text: local.offset, ms: local.offsetNanoseconds / 1e6 };
  if (offsets.size >= MAX_OFFSETS) offsets.clear();
  offsets.set(key, offset);
  return offset;
};

/** Returns what clocks in a time zone show at a time (RFC 3339). */
export const localTimeOf = (at: string, zone: string): LocalTime => {
  const instant = Date.parse(at);
  const offset = zone === 'UTC' ? { text: '+00:00', ms: 0 } : offsetOf(instant, zone);
  const [date = '', time = ''] = new Date(instant + offset.ms).toISOString().split('T');
  return { date, time: time.slice(0, -1), offset: offset.text };
};

/** Returns the first instant (RFC 3339) at which clocks in a time zone show a local time. If they skip it, the next one. */
export const instantIn = (local: string, zone: string): string =>
  new Date(Temporal.PlainDateTime.from(local).toZonedDateTime(zone).epochMilliseconds).toISOString();

const MAX_NAMES = 2_000;
const zones = new Map<string, string>();

/** Returns the name of a time zone as it is usually written; null if there is no such zone. */
export const zoneNamed = (name: string): string | null => {
  if (!/^[A-Za-z][\w+/-]{1,63}$/.test(name)) return null;
  const known = zones.get(name);
  if (known) return known;
  try {
    const { timeZoneId } = Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name);
    if (zones.size < MAX_NAMES) zones.set(name, timeZoneId);
    return timeZoneId;
  } catch {
    return null;
  }
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
