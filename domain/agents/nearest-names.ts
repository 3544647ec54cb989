/** Longer names are compared by their first characters only, to limit the time. */
const MAX_COMPARED = 128;

/**
 * Returns how many characters must be inserted, removed or replaced to turn one text into the other (the Levenshtein
 * distance). Stops at `limit`: a larger distance is returned as Infinity.
 */
export const editDistance = (from: string, to: string, limit = Number.POSITIVE_INFINITY): number => {
  if (Math.abs(from.length - to.length) > limit) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
    if (Math.min(...row) > limit) return Number.POSITIVE_INFINITY;
  }
  const distance = row[to.length]!;
  return distance > limit ? Number.POSITIVE_INFINITY : distance;
};

const shortened = (text: string): string => text.slice(0, MAX_COMPARED).toLowerCase();

/**
 * Returns the names that are most similar to `wanted`, at most `count`, the most similar first. A name that contains
 * `wanted`, or is contained in it, counts as similar; any other one if at most a third of its characters differ.
 */
export const nearestNames = (wanted: string, names: readonly string[], count: number): string[] => {
  const text = shortened(wanted);
  const limit = Math.max(2, Math.floor(text.length / 3));
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
