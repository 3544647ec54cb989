import type { Place } from './places.ts';

/** Who notices a mutant: the type check, a test file of its area, another one of the quick ring, or nobody. */
export const OBSERVERS = ['types', 'near tests', 'npm test', 'nobody', 'not executed'] as const;
export type Observer = (typeof OBSERVERS)[number];

export type Verdict = {
  readonly place: Place;
  readonly noticedBy: Observer;
  /** The test file that failed. */
  readonly test?: string;
  /** How many test files call the place, of how many whose calls are known, and how many of them have run. */
  readonly known?: number;
  readonly reaching?: number;
  readonly ran?: number;
};

const MAX_TEXT = 60;

const shorten = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT)}…` : line;
};

const observer = ({ noticedBy, test, known = 0, reaching = 0, ran = 0 }: Verdict): string => {
  if (noticedBy === 'nobody') return `nobody (${ran} of ${reaching} test files that execute it)`;
  if (noticedBy === 'not executed') return `nobody (not executed by any of ${known} test files)`;
  return test ? `${noticedBy} ${test}` : noticedBy;
};

const changeOf = ({ from, to }: Place): string => `${shorten(from)} → ${shorten(to)}`;

/** Returns the line for one mutant. */
export const lineOf = (verdict: Verdict): string => {
  const { file, line, scope } = verdict.place;
  return `${file}:${line} ${scope || 'module'}: ${changeOf(verdict.place)}  noticed by: ${observer(verdict)}`;
};

/** Returns what share of the mutants each observer notices. */
export const sharesOf = (verdicts: readonly Verdict[]): string =>
  OBSERVERS.map((name) => {
    const count = verdicts.filter(({ noticedBy }) => noticedBy === name).length;
    return `${name.padEnd(12)} ${String(count).padStart(4)}  ${((100 * count) / Math.max(1, verdicts.length)).toFixed(0).padStart(3)} %`;
  }).join('\n');

/** Returns the verdicts in a form in which two runs can be compared. */
export const recordsOf = (verdicts: readonly Verdict[]) =>
  verdicts.map(({ place: { id, file, line, scope, from, to }, ...verdict }) => ({
    id,
    file,
    line,
    scope,
    from,
    to: to.trim(),
    ...verdict,
  }));
