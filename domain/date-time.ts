const SHAPE = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:\.\d+)?)(Z|[+ -]\d\d:\d\d)$/;
const LEAP_SECOND = /:60(?:\.\d+)?(?=Z|[+-])/;
/** The last millisecond that a clock without leap seconds shows before midnight. */
const LAST_MOMENT = ':59.999';

const isEndOfDay = (instant: string): boolean => /T23:59:59\.999Z$/.test(new Date(Date.parse(instant) || 0).toISOString());

/** A leap second (RFC 3339, 5.7) is the end of a day in UTC; it counts as the last moment of this day. */
const withoutLeapSecond = (instant: string): string => {
  const without = instant.replace(LEAP_SECOND, LAST_MOMENT);
  return without !== instant && isEndOfDay(without) ? without : instant;
};

/**
 * Returns a date-time as RFC 3339 writes it, in upper case and with a T. A blank before the offset is read as a plus: a
 * plus that is not encoded in the query of a URL arrives as a blank. Any other text is returned as it is.
 */
export const plainDateTime = (text: string): string => {
  const [, date, time, offset] = SHAPE.exec(text.toUpperCase()) ?? [];
  if (!date) return text;
  const plain = withoutLeapSecond(`${date}T${time}${offset!.replace(' ', '+')}`);
  return Number.isNaN(Date.parse(plain)) ? text : plain;
};
