import type { Logger } from 'pino';
import { createLruMap } from '../lru-map.ts';

const INTERVAL_MS = 60_000;
const MAX_SOURCES = 1_000;

type Counted = { loggedAt: number; count: number };

/** Warns of what outsiders do: the first time at once, then at most once a minute for each source, with the number since then. */
export const createCountedWarnings = (logger: Pick<Logger, 'warn'>, message: string, now: () => number = Date.now) => {
  const sources = createLruMap<string, Counted>({ capacity: MAX_SOURCES });
  return (source: string, fields: object = {}): void => {
    const known = sources.get(source) ?? { loggedAt: Number.NEGATIVE_INFINITY, count: 0 };
    sources.set(source, known);
    known.count++;
    if (now() - known.loggedAt < INTERVAL_MS) return;
    logger.warn({ source, ...fields, count: known.count }, message);
    known.loggedAt = now();
    known.count = 0;
  };
};
