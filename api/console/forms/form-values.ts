import { instantIn, localTimeOf } from '../parts/local-time.ts';
import type { Field, Form, Unit } from './form.ts';

/** `code` is that of the API; undefined if the form itself has found the error. */
export type FieldError = { readonly pointer: string; readonly message: string; readonly code?: string };

/** The units that a form offers for a number, with their sizes in the unit of the API; the smallest comes first. */
const UNITS: Readonly<Record<Unit, readonly (readonly [name: string, size: number])[]>> = {
  usd: [],
  bytes: [],
  ms: [
    ['milliseconds', 1],
    ['seconds', 1_000],
    ['minutes', 60_000],
  ],
  seconds: [
    ['seconds', 1],
    ['minutes', 60],
    ['hours', 3_600],
    ['days', 86_400],
  ],
  minutes: [
    ['minutes', 1],
    ['hours', 60],
    ['days', 1_440],
  ],
  hours: [
    ['hours', 1],
    ['days', 24],
  ],
  days: [['days', 1]],
};

/** Returns the names of the units in which a form accepts a number of this unit, with their sizes. */
export const unitsOf = (unit: Unit | null): readonly (readonly [name: string, size: number])[] => (unit === null ? [] : UNITS[unit]);

/** Returns the largest unit in which a number is whole, and the number in it. */
export const inUnit = (value: number, unit: Unit): { readonly count: number; readonly name: string } => {
  const [name, size] = UNITS[unit].findLast(([, one]) => value !== 0 && value % one === 0) ?? UNITS[unit][0]!;
  return { count: value / size, name };
};

const amountIn = (value: number, unit: Unit): string => {
  const { count, name } = inUnit(value, unit);
  return `${count} ${count === 1 ? name.replace(/s$/, '') : name}`;
};

type NumberField = Field & { readonly kind: 'number' };

const hasUnits = (field: Field | undefined): field is NumberField & { readonly unit: Unit } =>
  field?.kind === 'number' && unitsOf(field.unit).length > 1;

/** Returns the help of a number. If people choose its unit, the help also has its limits, in units that people read. */
export const helpWithLimits = (field: NumberField): string | null => {
  const { help, min, max } = field;
  if (!hasUnits(field)) return help;
  const limits = [
    ...(min !== null && min > 0 ? [`at least ${amountIn(min, field.unit)}`] : []),
    ...(max !== null && max < Number.MAX_SAFE_INTEGER ? [`at most ${amountIn(max, field.unit)}`] : []),
  ].join(' and ');
  if (limits === '') return help;
  const sentence = `${limits.slice(0, 1).toUpperCase()}${limits.slice(1)}`;
  return help === null ? sentence : `${help.replace(/\.$/, '')}. ${sentence}.`;
};

const fieldIn = (field: Field | undefined, [name, ...rest]: readonly string[]): Field | undefined => {
  if (name === undefined || field === undefined) return field;
  if (field.kind === 'rows') return fieldIn(field.item, rest);
  return field.kind === 'group'
    ? fieldIn(
        field.fields.find((one) => one.name === name),
        rest,
      )
    : undefined;
};

/** For codes of errors that compare a field with another one of the same object, the other field. */
const COMPARED: Readonly<Record<string, string>> = { before_start: 'start_date' };

const OUT_OF_RANGE: readonly (string | undefined)[] = ['too_small', 'too_big'];

/**
 * Writes a message of the API as people read it: the label of another field in place of its name, and limits in units if
 * the unit of the field can be chosen.
 */
export const errorInWords =
  ({ body }: Pick<Form, 'body'>) =>
  (error: FieldError): FieldError => {
    const names = error.pointer.split('/').slice(1);
    const other = COMPARED[error.code ?? ''];
    const before = other && body ? fieldIn(body, names.with(-1, other)) : undefined;
    if (before) return { ...error, message: `must not be before the ${before.label.toLowerCase()}` };
    const field = body === null ? undefined : fieldIn(body, names);
    if (!hasUnits(field) || !OUT_OF_RANGE.includes(error.code)) return error;
    const { min, max, unit } = field;
    if (min === null || max === null || max >= Number.MAX_SAFE_INTEGER) return error;
    return { ...error, message: `must be between ${amountIn(min, unit)} and ${amountIn(max, unit)}` };
  };

/** Returns the name of the form field that has the unit of a number. */
export const unitField = (at: string): string => `_unit${at}`;

/** The name of the form field that has the time zone in which the times of the form are. */
export const ZONE_FIELD = '_zone';

/** Returns a time (RFC 3339) as a field for local times shows it: without the parts that are zero. */
export const localText = (at: string, zone: string): string => {
  if (Number.isNaN(Date.parse(at))) return at;
  const { date, time } = localTimeOf(at, zone);
  return `${date}T${time.replace(/(?::00)?\.000$/, '')}`;
};

const LOCAL_TIME = /^\d{4,6}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?$/;

/** Returns the instant (RFC 3339) that a local time in a form means. Other texts stay as they are. */
export const instantOf = (local: string, zone: string): string => {
  if (!LOCAL_TIME.test(local)) return local;
  try {
    return instantIn(local, zone);
  } catch {
    return local;
  }
};

/** Returns the text that base64 stands for; null if it is not base64 of a text. */
export const textOfBase64 = (base64: string): string | null => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.fromBase64(base64));
  } catch {
    return null;
  }
};

export const base64Of = (text: string): string => new TextEncoder().encode(text).toBase64();

/** Returns the text of a value in a text field. */
export const textOf = (field: Field & { kind: 'text' }, value: unknown, zone: string): string => {
  if (typeof value !== 'string') return value === undefined || value === null ? '' : String(value);
  if (field.input === 'time') return localText(value, zone);
  return field.input === 'bytes' ? (textOfBase64(value) ?? value) : value;
};

/** Returns an amount in US dollars as a field shows it: with at least two decimals. */
export const amountText = (amount: number): string => (Number.isInteger(amount * 100) ? amount.toFixed(2) : String(amount));

/** Returns a text as a slug: lower-case letters and digits, with single hyphens in between. */
export const slugOf = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\p{M}/gu, '')
    .replaceAll('ß', 'ss')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 64);
