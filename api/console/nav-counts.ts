import { type Answer, createAsk, type Send } from '../http/ask.ts';
import { boundedMap } from '../http/scoped-cache.ts';
import { compareTokens } from './live.ts';
import type { Counts, Visit } from './visit.ts';

/**
 * The counts that a browser has seen last. They contain the changes up to `token`; `wanted` is the newest change that a
 * page of the browser had to show. At most one read follows the running one.
 */
type Known = {
  at: number;
  token: string;
  wanted: string;
  counts: Counts | null;
  running: { readonly token: string; readonly done: Promise<void> } | null;
  next: Promise<void> | null;
};

/** For how long counts are reused, in milliseconds, unless the page must show a later change. */
const REUSED_MS = 5_000;
/** For how long a page waits for its counts, in milliseconds, from the start of its own reads. */
const MAX_WAIT_MS = 50;
/** After this time, in milliseconds, a read is abandoned, so that the next one can start. */
const MAX_READ_MS = 10_000;
const MAX_BROWSERS = 10_000;
const known = boundedMap<Known>(MAX_BROWSERS);

/** A page that shows the past has no counts. Each read of a tenant by a super-admin who is not a member is recorded. */
const isCounted = ({ tenant, asOf, may }: Visit): boolean => tenant !== null && asOf === null && may('tenant:read');

const knownOf = (key: string): Known => {
  const last = known.get(key) ?? { at: Number.NEGATIVE_INFINITY, token: '', wanted: '', counts: null, running: null, next: null };
  known.set(key, last);
  return last;
};

const after = (ms: number): Promise<undefined> => new Promise((resolve) => void setTimeout(resolve, ms, undefined).unref());

const later = (one: string, other: string): string => (compareTokens(one, other) < 0 ? other : one);

type ReadCounts = (token: string) => Promise<Answer<Counts>>;

const store = async (last: Known, token: string, read: ReadCounts): Promise<void> => {
  const at = performance.now();
  // Without the counts, the page is complete.
  const answer = await Promise.race([read(token).catch(() => null), after(MAX_READ_MS)]);
  if (answer?.ok) Object.assign(last, { at, token: later(last.token, token), counts: answer.value });
  last.running = null;
};

/** Reads the counts of a browser with the newest change that it must show. */
const refresh = (last: Known, read: ReadCounts): Promise<void> => {
  last.running ??= { token: last.wanted, done: store(last, last.wanted, read) };
  if (compareTokens(last.running.token, last.wanted) >= 0) return last.running.done;
  last.next ??= last.running.done.then(() => {
    last.next = null;
    return refresh(last, read);
  });
  return last.next;
};

/**
 * Returns a page with the counts that its browser has seen last. If `isRead`, starts to read them again if they are old, or lack the change
 * of `token` or of an earlier page. The answer to a form does not read them.
 */
export const countingIn = (visit: Visit, send: Send, token: string, isRead: boolean): Visit => {
  if (!isCounted(visit)) return visit;
  const { tenant_id } = visit.params as { readonly tenant_id: string };
  const last = knownOf(`${visit.nameCache.session} ${tenant_id}`);
  last.wanted = later(last.wanted, token);
  const hasChange = (): boolean => compareTokens(last.token, last.wanted) >= 0;
  const isNew = last.counts !== null && performance.now() - last.at < REUSED_MS && hasChange();
  // Pages do not list this call, because most of them do not make it.
  const read: ReadCounts = (wanted) =>
    createAsk(send)(visit.rows.readOverviewCounts, { tenant_id }, { headers: wanted === '' ? {} : { 'consistency-token': wanted } });
  const ready = isNew || !isRead ? Promise.resolve() : Promise.race([refresh(last, read), after(MAX_WAIT_MS)]);
  const navCounts = {
    ready,
    get current() {
      return hasChange() ? last.counts : null;
    },
  };
  return { ...visit, navCounts };
};
