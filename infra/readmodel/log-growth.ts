import { comparePositions, type Position } from '../../domain/event.ts';

/** Positions that are noted within this many milliseconds share a mark. */
const INTERVAL_MS = 250;
const MAX_MARKS = 1_024;
/** The maximum error of an old time, as a fraction of its age. */
const PRECISION = 1 / 16;

type Mark = { to: Position; readonly at: number };

/** Times are in milliseconds since 1970. */
export type LogGrowth = {
  /** The log has had an event at this position since `at`. */
  readonly note: (position: Position, at: number) => void;
  /** Returns the time since which the log has had an event after this position; null if no such event is known. */
  readonly grownBeyond: (position: Position | null) => number | null;
  readonly clear: () => void;
};

/** Drops marks without which the times remain precise enough. */
const thinned = (marks: readonly Mark[], now: number): Mark[] => {
  const kept: Mark[] = [];
  marks.forEach((mark, index) => {
    const [before, next] = [kept.at(-1), marks[index + 1]];
    if (!before || !next || next.at - before.at > (now - next.at) * PRECISION) kept.push(mark);
  });
  return kept;
};

/** Its size is bounded. A returned time is at most 250 ms too early, or too late by a sixteenth of its age. */
export const trackLogGrowth = (): LogGrowth => {
  let marks: Mark[] = [];
  return {
    note: (position, at) => {
      const last = marks.at(-1);
      if (last && comparePositions(position, last.to) <= 0) return;
      if (last && at - last.at < INTERVAL_MS) {
        last.to = position;
        return;
      }
      if (marks.length >= MAX_MARKS) marks = thinned(marks, at);
      marks.push({ to: position, at });
    },
    grownBeyond: (position) => {
      const newest = marks.at(-1);
      if (!newest || (position && comparePositions(newest.to, position) <= 0)) return null;
      return marks.find(({ to }) => !position || comparePositions(to, position) > 0)!.at;
    },
    clear: () => {
      marks = [];
    },
  };
};
