/** Limits the time: only this many first characters are compared. */
const MAX_COMPARED = 128;

/** The maximum number of changed characters between similar names. This also limits the time. */
const MAX_DISTANCE = 4;

/** Levenshtein distance; Infinity if more than `limit`. Takes time proportional to the length multiplied by the limit. */
export const editDistance = (from: string, to: string, limit: number): number => {
  if (Math.abs(from.length - to.length) > limit) return Number.POSITIVE_INFINITY;
  const tooFar = limit + 1;
  let row = new Uint16Array(to.length + 1).map((_, index) => Math.min(index, tooFar));
  let next = new Uint16Array(to.length + 1);
  for (let i = 1; i <= from.length; i++) {
    // Only cells of the distance matrix within `limit` of the diagonal can lead to a distance within the limit.
    const [first, last] = [Math.max(1, i - limit), Math.min(to.length, i + limit)];
    next[first - 1] = first === 1 ? Math.min(i, tooFar) : tooFar;
    if (last < to.length) next[last + 1] = tooFar;
    let least = next[first - 1]!;
    for (let j = first; j <= last; j++) {
      const replaced = row[j - 1]! + (from.charCodeAt(i - 1) === to.charCodeAt(j - 1) ? 0 : 1);
      next[j] = Math.min(replaced, row[j]! + 1, next[j - 1]! + 1);
      if (next[j]! < least) least = next[j]!;
    }
    if (least > limit) return Number.POSITIVE_INFINITY;
    [row, next] = [next, row];
  }
  const distance = row[to.length]!;
  return distance > limit ? Number.POSITIVE_INFINITY : distance;
};

const shortened = (text: string): string => text.slice(0, MAX_COMPARED).toLowerCase();

/** The most similar first. A name is similar if at most about a third of its characters differ (see `limit`), or if one contains the other. */
export const nearestNames = (wanted: string, names: readonly string[], count: number): string[] => {
  const text = shortened(wanted);
  const limit = Math.min(MAX_DISTANCE, Math.max(2, Math.floor(text.length / 3)));
  const rank = (name: string): number => {
    const other = shortened(name);
    const distance = editDistance(text, other, limit);
    if (distance <= limit) return distance;
    const contained = text.length > 2 && other.length > 2 && (other.includes(text) || text.includes(other));
    return contained ? limit + 1 : Number.POSITIVE_INFINITY;
  };
  return names
    .map((name) => ({ name, rank: rank(name) }))
    .filter(({ rank }) => Number.isFinite(rank))
    .sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1))
    .slice(0, count)
    .map(({ name }) => name);
};
