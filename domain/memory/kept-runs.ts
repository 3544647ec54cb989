/**
 * The lengths of alternating runs of indexes from 0 on: kept, dropped, kept and so on. At most about 600 kB for 100,000 entries, and
 * little if few were dropped.
 */
export type KeptRuns = readonly number[];

/** Both included. */
export type IndexRange = { readonly first: number; readonly last: number };

/** Returns the number of indexes, kept or dropped, which is the next index. */
export const lengthOf = (runs: KeptRuns): number => runs.reduce((sum, run) => sum + run, 0);

/** Adds an index that is kept. */
export const appended = (runs: KeptRuns): KeptRuns => (runs.length % 2 === 1 ? [...runs.slice(0, -1), runs.at(-1)! + 1] : [...runs, 1]);

/** Returns the kept ranges in ascending order. */
export const keptRanges = (runs: KeptRuns): IndexRange[] => {
  let next = 0;
  return runs.flatMap((run, n) => {
    const first = next;
    next += run;
    return n % 2 === 0 && run > 0 ? [{ first, last: next - 1 }] : [];
  });
};

/** Both lists must be in ascending order. */
export const intersection = (ranges: readonly IndexRange[], others: readonly IndexRange[]): IndexRange[] => {
  const found: IndexRange[] = [];
  for (let a = 0, b = 0; a < ranges.length && b < others.length; ) {
    const [one, other] = [ranges[a]!, others[b]!];
    const [first, last] = [Math.max(one.first, other.first), Math.min(one.last, other.last)];
    if (first <= last) found.push({ first, last });
    if (one.last < other.last) a++;
    else b++;
  }
  return found;
};

/** `ranges` must be kept ones, in ascending order. */
export const dropped = (runs: KeptRuns, ranges: readonly IndexRange[]): KeptRuns => {
  const gaps = [...ranges, ...keptRanges(runs.length === 0 ? [] : [0, ...runs])].toSorted((a, b) => a.first - b.first);
  const after: number[] = [];
  let next = 0;
  for (const { first, last } of gaps) {
    if (first === next && after.length > 0) after[after.length - 1]! += last - first + 1;
    else after.push(first - next, last - first + 1);
    next = last + 1;
  }
  return next < lengthOf(runs) ? [...after, lengthOf(runs) - next] : after;
};

/** `indexes` must be in ascending order. */
export const rangesOf = (indexes: readonly number[]): IndexRange[] => {
  const ranges: IndexRange[] = [];
  for (const index of indexes) {
    const open = ranges.at(-1);
    if (open?.last === index - 1) ranges[ranges.length - 1] = { first: open.first, last: index };
    else ranges.push({ first: index, last: index });
  }
  return ranges;
};

/** Groups of at most `size` indexes each. */
export const groupsOf = (ranges: readonly IndexRange[], size: number): IndexRange[][] => {
  const groups: IndexRange[][] = [];
  let room = 0;
  for (const { first, last } of ranges)
    for (let from = first; from <= last; ) {
      if (room === 0) groups.push([]);
      if (room === 0) room = size;
      const to = Math.min(last, from + room - 1);
      groups.at(-1)!.push({ first: from, last: to });
      room -= to - from + 1;
      from = to + 1;
    }
  return groups;
};

export const countOf = (ranges: readonly IndexRange[]): number => ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0);
