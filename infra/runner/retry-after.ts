const MAX_DELAY_MS = 3_600_000;
const MIN_DELAY_MS = 100;

const bounded = (ms: number): number => Math.min(MAX_DELAY_MS, Math.max(MIN_DELAY_MS, ms));

/** The header has seconds or a date; the result is at most an hour. Undefined if the header is missing or malformed. */
export const retryAfterMs = (header: string | null): number | undefined => {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header.trim())) return bounded(Number(header) * 1_000);
  const at = /[A-Za-z]/.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? undefined : bounded(at - Date.now());
};
