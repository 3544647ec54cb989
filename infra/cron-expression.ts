import { Cron } from 'croner';
import { type CronExpression, keepsRhythm, type ParseCron } from '../domain/schedule/recurrence.ts';
import { createLruMap } from './lru-map.ts';

const MAX_PARSED = 10_000;
const FIELDS = /^\S+(?:\s+\S+){4}$/;

const parsed = createLruMap<string, CronExpression | null>({ capacity: MAX_PARSED });

/**
 * The library croner gets local times as if they were UTC: it only selects them, and `nextOccurrence` applies the rules for daylight saving
 * time. With an offset of zero, croner is ten times as fast as with the zone UTC.
 */
const toUtc = (local: string): Date => new Date(`${local}Z`);

const parse = (expression: string): CronExpression | null => {
  if (!FIELDS.test(expression)) return null;
  try {
    const cron = new Cron(expression, { utcOffset: 0, mode: '5-part' });
    const next = (after: string): string | null => cron.nextRun(toUtc(after))?.toISOString().slice(0, 19) ?? null;
    return next('2000-01-01T00:00:00') === null ? null : { next, keepsRhythm: keepsRhythm(expression) };
  } catch {
    return null;
  }
};

/** Five fields; null if it is malformed or never matches. */
export const parseCron: ParseCron = (expression) => {
  const known = parsed.get(expression);
  if (known !== undefined) return known;
  const result = parse(expression.trim());
  parsed.set(expression, result);
  return result;
};
