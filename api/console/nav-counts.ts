import { createAsk, type Send } from '../http/ask.ts';
import { boundedMap } from '../http/scoped-cache.ts';
import type { Counts, Visit } from './visit.ts';

/** The counts that a browser has seen last. `token` is that of the change which they contain for certain. */
type Known = { readonly at: number; readonly token: string; readonly counts: Counts };

/** For how long counts are reused, in milliseconds, unless the page must show a later change. */
const REUSED_MS = 5_000;
/** For how long counts are shown until newer ones have been read, in milliseconds. */
const SHOWN_MS = 30_000;
const MAX_BROWSERS = 10_000;
const known = boundedMap<Known>(MAX_BROWSERS);

/** A page of the past has no counts. Each read of a tenant by a super-admin who is not a member is recorded. */
const isCounted = ({ tenant, asOf, may }: Visit): boolean => tenant !== null && asOf === null && may('tenant:read');

/**
 * Starts to read the counts of a page, and returns the page with what is known of them by the time it is rendered. No page
 * waits for them: if they come later, the next page has them. `token` is that of a change which they must contain.
 */
export const countingIn = (visit: Visit, send: Send, token: string): Visit => {
  if (!isCounted(visit)) return visit;
  const { tenant_id } = visit.params as { readonly tenant_id: string };
  const key = `${visit.nameCache.session} ${tenant_id}`;
  const last = known.get(key);
  const age = last ? performance.now() - last.at : Number.POSITIVE_INFINITY;
  const navCounts: { current: Counts | null } = { current: last && age < SHOWN_MS ? last.counts : null };
  if (age < REUSED_MS && last?.token === token) return { ...visit, navCounts };
  const headers: Record<string, string> = token === '' ? {} : { 'consistency-token': token };
  const read = createAsk(send, (call) => visit.calls.push(call))(visit.rows.readOverviewCounts, { tenant_id }, { headers });
  read
    .then((answer) => {
      navCounts.current = answer.ok ? answer.value : null;
      if (answer.ok) known.set(key, { at: performance.now(), token, counts: answer.value });
      else known.delete(key);
    })
    // Without the counts, the page is complete.
    .catch(() => known.delete(key));
  return { ...visit, navCounts };
};
