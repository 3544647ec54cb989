import type { ColumnType } from './table.ts';

const MAX_DEPTH = 500;
const MAX_INDEXED_BYTES = 2_000;
const canonicalTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const time = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)$/;

const fail = (reason: string): never => {
  throw new Error(reason);
};

/**
 * Replaces each character that Postgres cannot store in a text (NUL and unpaired surrogates) by `\uXXXX`, so that an
 * event with such a character can be applied.
 */
export const escapeText = (text: string): string =>
  text.isWellFormed() && !text.includes('\0')
    ? text
    : text.replace(/\0|\p{Surrogate}/gu, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * Compares two texts by code points, as Postgres does with the collation "C". JavaScript compares by UTF-16 code units.
 */
export const compareText = (a: string, b: string): number => {
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  if (at === end) return a.length - b.length;
  const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)];
  const codePointOrder = (unit: number) => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);
  return codePointOrder(left) - codePointOrder(right);
};

const byLengthThenText = (a: string, b: string): number => Buffer.byteLength(a) - Buffer.byteLength(b) || compareText(a, b);

const isPlain = (name: string): boolean => name.isWellFormed() && !name.includes('\0') && name !== '__proto__';

/**
 * Returns a JSON value in the form in which Postgres returns it from a `jsonb` column, with keys sorted by length and
 * then by bytes. So a row in memory equals the same row in the table.
 */
const canonical = (value: unknown, depth = 0): unknown => {
  if (depth > MAX_DEPTH) return fail(`is nested deeper than ${MAX_DEPTH}`);
  if (typeof value === 'string') return escapeText(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => canonical(item ?? null, depth + 1));
  const names = Object.keys(value);
  if (names.length > 1) names.sort(byLengthThenText);
  return names.every(isPlain) ? sortedObject(value as Record<string, unknown>, names, depth) : escapedObject(value, depth);
};

const sortedObject = (value: Readonly<Record<string, unknown>>, names: readonly string[], depth: number): unknown => {
  const sorted: Record<string, unknown> = {};
  for (const name of names) if (value[name] !== undefined) sorted[name] = canonical(value[name], depth + 1);
  return sorted;
};

/**
 * Returns an object with escaped names, sorted after they were escaped, because escaping changes their order. If two
 * names become equal, the last value is kept.
 */
const escapedObject = (value: object, depth: number): unknown => {
  const entries = new Map<string, unknown>();
  for (const [name, item] of Object.entries(value)) if (item !== undefined) entries.set(escapeText(name), canonical(item, depth + 1));
  return Object.fromEntries([...entries].sort(([one], [other]) => byLengthThenText(one, other)));
};

/** Checks that a value can be written as JSON. @throws Error if it is nested too deeply */
export const assertDepth = (value: unknown, depth = 0): void => {
  if (typeof value !== 'object' || value === null) return;
  if (depth > MAX_DEPTH) fail(`is nested deeper than ${MAX_DEPTH}`);
  for (const item of Array.isArray(value) ? value : Object.values(value)) assertDepth(item, depth + 1);
};

const timeOf = (value: unknown): string => {
  if (typeof value !== 'string' || !time.test(value) || Number.isNaN(Date.parse(value))) return fail('is not an RFC 3339 time');
  return canonicalTime.test(value) ? value : new Date(value).toISOString();
};

const integerOf = (value: unknown, limit: number): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && Math.abs(value) <= limit
    ? value + 0
    : fail(`is not an integer up to ${limit}`);

const converters: Record<ColumnType, (value: unknown) => unknown> = {
  text: (value) => (typeof value === 'string' ? escapeText(value) : fail('is not a string')),
  boolean: (value) => (typeof value === 'boolean' ? value : fail('is not a boolean')),
  integer: (value) => integerOf(value, 2_147_483_647),
  bigint: (value) => integerOf(value, Number.MAX_SAFE_INTEGER),
  'double precision': (value) => (typeof value === 'number' && Number.isFinite(value) ? value + 0 : fail('is not a finite number')),
  timestamptz: timeOf,
  jsonb: (value) => canonical(value),
};

/**
 * Returns the value in the form in which a column of this type returns it. Undefined becomes null.
 * @throws Error if the type does not accept the value
 */
export const columnValue = (type: ColumnType, value: unknown): unknown =>
  value === null || value === undefined ? null : converters[type](value);

/** Checks that a value is not too long for an index. @throws Error if it is a text that is too long */
export const assertIndexable = (value: unknown): void => {
  if (typeof value !== 'string' || value.length * 3 <= MAX_INDEXED_BYTES) return;
  if (Buffer.byteLength(value) > MAX_INDEXED_BYTES) fail(`is too long to be indexed (more than ${MAX_INDEXED_BYTES} bytes)`);
};
