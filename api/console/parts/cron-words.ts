/** The values of a field of a cron expression, ascending. `isStar`: whether the field is `*`, so every value matches. */
type Values = { readonly values: readonly number[]; readonly isStar: boolean };

/** A weekday (0 is Sunday). `nth` says which one of a month: its number, or `last`; null for every one. */
type Weekday = { readonly day: number; readonly nth: number | 'last' | null };

type Days = Values & { readonly isLast: boolean; readonly isLastWorkday: boolean; readonly nearest: readonly number[] };
type Weekdays = { readonly days: readonly Weekday[]; readonly isStar: boolean; readonly isRequired: boolean };

/** What the five fields of a cron expression select. */
export type CronFields = {
  readonly minutes: Values;
  readonly hours: Values;
  readonly days: Days;
  readonly months: Values;
  readonly weekdays: Weekdays;
};

const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

const range = (from: number, to: number, step = 1): number[] => {
  const values: number[] = [];
  for (let value = from; value <= to; value += step) values.push(value);
  return values;
};

const ITEM = /^(?:\*|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/;

/** Returns the values of one part of a list, such as `5`, `1-5` or `0-30/10`. */
const valuesOfItem = (item: string, min: number, max: number): readonly number[] => {
  const [matched, first, last, step] = ITEM.exec(item) ?? [];
  if (!matched) return [];
  const from = first === undefined ? min : Number(first);
  const to = last === undefined ? (first === undefined ? max : from) : Number(last);
  return range(from, to, step === undefined ? 1 : Number(step));
};

const sorted = (values: readonly number[]): readonly number[] => [...new Set(values)].toSorted((one, other) => one - other);

const valuesOf = (text: string, min: number, max: number): Values => ({
  values: sorted(text.split(',').flatMap((item) => valuesOfItem(item, min, max))),
  isStar: text === '*',
});

const withNumbers = (text: string, names: readonly string[], first: number): string =>
  names.reduce((replaced, name, index) => replaced.replaceAll(name.slice(0, 3).toLowerCase(), String(index + first)), text);

const daysOf = (text: string): Days => {
  const items = text.split(',');
  const plain = items.filter((item) => !/[lw]/.test(item));
  return {
    values: sorted(plain.flatMap((item) => valuesOfItem(item, 1, 31))),
    isStar: text === '*',
    isLast: items.includes('l'),
    isLastWorkday: text === 'lw',
    nearest: sorted(items.filter((item) => /^\d+w$/.test(item)).map((item) => Number(item.slice(0, -1)))),
  };
};

const weekdaysOf = (given: string): Weekdays => {
  // A range can end with Sunday. It is then 7.
  const text = withNumbers(given.replaceAll('-sun', '-7'), WEEKDAYS, 0);
  const list = text.replace(/^\+/, '');
  const days = list.split(',').flatMap((item): readonly Weekday[] => {
    const [, base = '', nth] = /^(.*?)(?:#(\d|l)|l)?$/.exec(item) ?? [];
    const isLast = item.endsWith('l');
    return valuesOfItem(base, 0, 6).map((day) => ({ day: day % 7, nth: isLast ? 'last' : nth === undefined ? null : Number(nth) }));
  });
  return { days, isStar: list === '*', isRequired: text.startsWith('+') };
};

/** Reads a cron expression of five fields. It must be one that the API accepts; it is not checked. */
export const cronFieldsOf = (expression: string): CronFields => {
  const [minute = '*', hour = '*', day = '*', month = '*', weekday = '*'] = expression
    .trim()
    .toLowerCase()
    .replaceAll('?', '*')
    .split(/\s+/);
  return {
    minutes: valuesOf(minute, 0, 59),
    hours: valuesOf(hour, 0, 23),
    days: daysOf(day),
    months: valuesOf(withNumbers(month, MONTHS, 1), 1, 12),
    weekdays: weekdaysOf(weekday),
  };
};

/** Joins texts as in a sentence: `a, b and c`. */
const listed = (texts: readonly string[], word = 'and'): string =>
  texts.length < 2 ? (texts[0] ?? '') : `${texts.slice(0, -1).join(', ')} ${word} ${texts.at(-1)}`;

/** Lists values with their names. Three or more neighbouring values become a range: `Monday to Friday`. */
const namesOf = (values: readonly number[], nameOf: (value: number) => string): readonly string[] => {
  const runs: number[][] = [];
  for (const value of values) {
    const last = runs.at(-1);
    if (last?.at(-1) === value - 1) last.push(value);
    else runs.push([value]);
  }
  return runs.flatMap((run) => (run.length > 2 ? [`${nameOf(run[0]!)} to ${nameOf(run.at(-1)!)}`] : run.map(nameOf)));
};

const twoDigits = (value: number): string => String(value).padStart(2, '0');
const ordinal = (value: number): string =>
  `${value}${['th', 'st', 'nd', 'rd'][value % 100 > 10 && value % 100 < 14 ? 0 : value % 10] ?? 'th'}`;

/** Returns the step of values that are evenly spread over the whole period, starting with zero; null if they are not. */
const stepOf = (values: readonly number[], period: number): number | null => {
  const step = period / values.length;
  return values.length > 1 && values.every((value, index) => value === index * step) ? step : null;
};

const MAX_TIMES = 8;

const plural = (values: readonly number[], name: string): string =>
  `${name}${values.length > 1 ? 's' : ''} ${listed(namesOf(values, String))}`;

const hoursText = (hours: readonly number[]): string => {
  if (hours.length === 24) return 'every hour';
  const step = stepOf(hours, 24);
  return step === null ? `the ${plural(hours, 'hour')}` : `every ${ordinal(step)} hour, from 00:00`;
};

const timesText = (minutes: readonly number[], hours: readonly number[]): string => {
  if (minutes.length * hours.length <= MAX_TIMES)
    return `At ${listed(hours.flatMap((hour) => minutes.map((minute) => `${twoDigits(hour)}:${twoDigits(minute)}`)))}`;
  const step = stepOf(minutes, 60);
  if (step === null) return `At ${plural(minutes, 'minute')} of ${hoursText(hours)}`;
  const every = step === 1 ? 'Every minute' : `Every ${step} minutes`;
  if (hours.length === 24) return every;
  const periods = namesOf(hours, String).map((run) => {
    const [from = '', to = from] = run.split(' to ');
    return `from ${twoDigits(Number(from))}:00 to ${twoDigits(Number(to))}:59`;
  });
  return periods.length > MAX_TIMES ? `${every} of ${hoursText(hours)}` : `${every} ${listed(periods)}`;
};

const NTH = ['', 'first', 'second', 'third', 'fourth', 'fifth'];

const weekdaysText = ({ days }: Weekdays): string => {
  const every = sorted(days.flatMap(({ day, nth }) => (nth === null ? [day === 0 ? 7 : day] : [])));
  const some = days.flatMap(({ day, nth }) =>
    nth === null ? [] : [`the ${nth === 'last' ? 'last' : NTH[nth]} ${WEEKDAYS[day]} of the month`],
  );
  return listed([...namesOf(every, (day) => WEEKDAYS[day % 7]!), ...some]);
};

const daysText = ({ values, isLast, isLastWorkday, nearest }: Days): string =>
  listed([
    ...(values.length > 0 ? [`on ${plural(values, 'day')} of the month`] : []),
    ...nearest.map((day) => `on the weekday nearest to day ${day} of the month`),
    ...(isLast ? ['on the last day of the month'] : []),
    ...(isLastWorkday ? ['on the last weekday (Monday to Friday) of the month'] : []),
  ]);

const isEveryWeekday = ({ days }: Weekdays): boolean => new Set(days.flatMap(({ day, nth }) => (nth === null ? [day] : []))).size === 7;

const dateText = ({ days, weekdays }: CronFields): string => {
  const hasDays = !days.isStar && days.values.length < 31;
  const hasWeekdays = !weekdays.isStar && !isEveryWeekday(weekdays);
  // Without `+`, a date matches if its day or its weekday matches, unless one of the two fields is `*`.
  const isEither = !days.isStar && !weekdays.isStar && !weekdays.isRequired;
  if (isEither && !(hasDays && hasWeekdays)) return '';
  if (hasDays && hasWeekdays) return `${daysText(days)} ${isEither ? 'or' : 'if it is'} ${weekdaysText(weekdays)}`;
  return hasDays ? daysText(days) : hasWeekdays ? weekdaysText(weekdays) : '';
};

/**
 * Returns what a cron expression means: `At 09:00, Monday to Friday`. The expression must be one that the API accepts.
 */
export const cronWords = (expression: string): string => {
  const fields = cronFieldsOf(expression);
  const { minutes, hours, months } = fields;
  const inMonths = months.values.length === 12 ? '' : `in ${listed(namesOf(months.values, (month) => MONTHS[month - 1]!))}`;
  return [timesText(minutes.values, hours.values), dateText(fields), inMonths].filter((part) => part !== '').join(', ');
};
