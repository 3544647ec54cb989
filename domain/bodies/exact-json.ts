import { parseWithNumbers } from './json-values.ts';

/** The longest exponent and the most digits of a number that is read exactly; JSON.parse reads others. */
const MAX_EXPONENT = 400;
const MAX_DIGITS = 1_000;
const WHOLE = /^(-?\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** A bigint for a whole number that JavaScript cannot represent otherwise. */
export const exactNumber = (source: string): number | bigint => {
  const value = Number(source);
  if (Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value))) return value;
  const [, whole, decimals = '', exponent = '0'] = WHOLE.exec(source)!;
  const power = Number(exponent) - decimals.length;
  if (Math.abs(power) > MAX_EXPONENT || source.length > MAX_DIGITS) return value;
  const digits = BigInt(whole! + decimals);
  if (power >= 0) return digits * 10n ** BigInt(power);
  const divisor = 10n ** BigInt(-power);
  return digits % divisor === 0n ? digits / divisor : value;
};

const TOKEN = /\s*(?:"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|true|false|null|[[\]{},:])/gy;

/** If several members have the same name, keeps the first, as some programs do; JSON.parse keeps the last. */
const parseKeepingFirst = (text: string): unknown => {
  TOKEN.lastIndex = 0;
  const next = (): string => TOKEN.exec(text)![0].trim();
  const readMember = (token: string): [string, unknown] => {
    const name = JSON.parse(token) as string;
    next();
    return [name, readValue(next())];
  };
  const readObject = (): object => {
    const members: Map<string, unknown> = new Map();
    for (let token = next(); token !== '}'; token = next()) {
      const [name, value] = readMember(token === ',' ? next() : token);
      if (!members.has(name)) members.set(name, value);
    }
    return Object.fromEntries(members);
  };
  const readArray = (): unknown[] => {
    const items: unknown[] = [];
    for (let token = next(); token !== ']'; token = next()) items.push(readValue(token === ',' ? next() : token));
    return items;
  };
  const readValue = (token: string): unknown => {
    if (token === '{') return readObject();
    if (token === '[') return readArray();
    return /^[-\d]/.test(token) ? exactNumber(token) : (JSON.parse(token) as unknown);
  };
  return readValue(next());
};

const membersIn = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value) as unknown[];
  return inner.reduce<number>((sum, one) => sum + membersIn(one), Array.isArray(value) ? 0 : inner.length);
};

/** Strings, and the colons between names and values. */
const STRING_OR_COLON = /"[^"\\]*(?:\\.[^"\\]*)*"|:/g;

const membersOf = (json: string): number => {
  let count = 0;
  for (const [token] of json.matchAll(STRING_OR_COLON)) if (token === ':') count++;
  return count;
};

/** Strings, and numbers that JavaScript may not represent exactly. */
const STRING_OR_LONG_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d(?:[\d.]{15}|[\d.]*[eE])/g;

/** Whether JavaScript may not represent a number exactly. Most JSON has no such text at all. */
const hasLongNumber = (json: string): boolean => {
  if (!/\d{16}|\d[eE]|\d\.\d{10}/.test(json)) return false;
  for (const [token] of json.matchAll(STRING_OR_LONG_NUMBER)) if (token[0] !== '"') return true;
  return false;
};

/** Large whole numbers become bigints. */
export const parseExactNumbers = (json: string): unknown =>
  hasLongNumber(json) ? parseWithNumbers(json, (_, source) => exactNumber(source)) : (JSON.parse(json) as unknown);

/** Two values if an object has several members with the same name: some programs keep the last, others the first. Whole numbers are exact. */
export const readings = (json: string): readonly unknown[] => {
  const last = parseExactNumbers(json);
  return membersOf(json) === membersIn(last) ? [last] : [last, parseKeepingFirst(json)];
};
