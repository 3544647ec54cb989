import * as rows from './morph-page.mjs';
import { createRefreshPace, isLater, secondsText } from './refresh-pace.mjs';

/** After this time without a message, the connection counts as lost. The stream sends a heartbeat every 15 s. */
const MAX_SILENCE_MS = 20_000;
const RETRY_MS = 2_000;
/** A request counts as lost after this time. Without a limit, one on a dead connection would end all updates. */
const TIMEOUT_MS = 10_000;
/** How often a page checks whether it must be fetched again, and whether its stream is alive. */
const WATCH_MS = 1_000;
/** How often a page that follows the stream asks which parts of the platform do not work. */
const HEALTH_MS = 2_000;
/**
 * If the page is scrolled down by more than this, new rows are only announced, so that the list does not move while it
 * is read.
 */
const TOP_PX = 120;

const main = /** @type {HTMLElement} */ (document.querySelector('#main'));
const button = /** @type {HTMLButtonElement | null} */ (document.querySelector('#live'));
const newRows = /** @type {HTMLButtonElement | null} */ (document.querySelector('#live-new'));
const ended = document.querySelector('#live-ended');
const status = document.querySelector('#live-status');
const { refresh: url = '', poll = '', incomplete } = main.dataset;
const categories = (main.dataset.categories ?? '').split(' ');
const pace = createRefreshPace();

/** The URL of the stream, which starts after what the page shows. Empty for a page that does not follow one. */
let { stream = '' } = main.dataset;

/** @type {EventSource | null} */
let source = null;
let newestToken = '';
let heardAt = Date.now();
let lostSince = 0;
let healthAt = Date.now();
/** The time until the next attempt while the page cannot be fetched, or shows a temporary problem. 0: no attempt. */
let retryMs = 0;
let timer = 0;
let isPaused = false;
let isBusy = false;
let isOver = false;
/** Whether a change has arrived that the page does not show yet. */
let isStale = false;
/**
 * Whether the next refresh may move rows although the page is scrolled down, because the reader has pressed a button.
 */
let mayMove = false;
/** How many rows have come below the part that the reader sees, on a page that is read from its end. */
let below = 0;

const say = (/** @type {string} */ text) => {
  if (status && status.textContent !== text) status.textContent = text;
};

/** Shows the current state of the connection. */
const showState = () => {
  if (!button) return;
  const state = isOver ? 'over' : isPaused ? 'paused' : lostSince > 0 ? 'lost' : poll || source?.readyState === 1 ? 'live' : 'connecting';
  const texts = {
    over: 'Ended',
    paused: 'Paused',
    lost: `Reconnecting since ${secondsText(Date.now() - lostSince)}`,
    live: 'Live',
    connecting: 'Connecting',
  };
  if (button.dataset.state !== state && state !== 'connecting') say(state === 'lost' ? 'Reconnecting' : texts[state]);
  button.dataset.state = state;
  button.title = isPaused ? 'Follow the changes (.)' : 'Pause (.)';
  button.setAttribute('aria-pressed', String(isPaused));
  rows.labelOf(button)?.replaceChildren(texts[state]);
};

const showNewRows = (/** @type {number} */ count) => {
  if (newRows && rows.announceRows(newRows, count, below > 0)) say(rows.labelOf(newRows)?.textContent ?? '');
};

/**
 * If a page says that its data is old, it is fetched again, and this time waits for the change that it lacks. A page
 * with a temporary problem is fetched again when the problem says so, and one that shows a progress as soon as the pace
 * of the refreshes allows it.
 */
const noteAge = (/** @type {Element} */ root) => {
  const problems = /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll('[data-retry]'));
  retryMs = problems.length > 0 ? 1_000 * Math.max(...[...problems].map(({ dataset }) => Number(dataset.retry))) : 0;
  if (root.querySelector('[data-running]')) isStale = true;
  const strip = /** @type {HTMLElement | null} */ (root.querySelector('[data-stale]'));
  if (!strip) return;
  isStale = true;
  newestToken ||= strip.dataset.missed ?? '';
};

/**
 * Replaces the content by that of the fetched page. If the page is scrolled down, only announces how many rows are new.
 * `isRefused` says that there were too many requests: the page then keeps its content and waits.
 */
const show = (/** @type {string} */ html, /** @type {boolean} */ isRefused) => {
  const page = new DOMParser().parseFromString(html, 'text/html');
  const next = /** @type {HTMLElement | null} */ (page.querySelector('#main'));
  if (!next) return;
  // A problem has replaced the whole page until now, so its navigation and its modules are missing, too.
  if (incomplete !== undefined && next.dataset.incomplete === undefined) return location.reload();
  noteAge(next);
  if (isRefused) return;
  stream = next.dataset.stream ?? stream;
  rows.nameRows(main);
  rows.nameRows(next);
  const count = rows.countMoving(rows.rowsOf(main), rows.rowsOf(next));
  if (count > 0 && scrollY > TOP_PX && !mayMove) {
    // What is open beside the list moves no row.
    rows.morph(main.querySelector('.beside'), next.querySelector('.beside'));
    return showNewRows(count);
  }
  mayMove = false;
  const followsEnd = rows.isAtEnd();
  below = followsEnd || !rows.endOf() ? 0 : below + rows.countFollowing(rows.rowsOf(main), rows.rowsOf(next));
  showNewRows(below);
  // Parts of a page can appear for the first time now. The browser does not load the modules of parsed pages by itself.
  for (const { src } of /** @type {NodeListOf<HTMLScriptElement>} */ (next.querySelectorAll('script[src]'))) import(src);
  rows.morph(main, next);
  if (followsEnd) rows.showEnd();
  rows.morph(document.querySelector('.drawer'), page.querySelector('.drawer'));
  rows.morphNav(document.querySelector('#nav nav'), page.querySelector('#nav nav'));
};

const stop = () => {
  isOver = true;
  source?.close();
};

/** Says that the session has ended, and why. */
const endSession = (/** @type {string} */ reason) => {
  stop();
  ended?.querySelector('[data-reason]')?.replaceChildren(reason && `${reason}. `);
  ended?.removeAttribute('hidden');
};

const lost = () => {
  lostSince ||= Date.now();
};

/** Whether the time slider shows the past. The page then does not follow the changes. */
const isPast = () => new URLSearchParams(location.search).has('as_of');

/** Fetches the page again. */
const refresh = async () => {
  /** @type {Record<string, string>} */
  const headers = { 'x-console-refresh': '1', ...(newestToken && { 'consistency-token': newestToken }) };
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(url, { headers, redirect: 'manual', cache: 'no-store', signal });
    if (response.type === 'opaqueredirect') return endSession('');
    if (response.status === 401) return endSession((await response.json()).detail);
    const isPage = response.headers.get('content-type')?.startsWith('text/html');
    const text = await response.text();
    if (isPast()) return;
    if (isPage) show(text, response.status === 429);
    else retryMs = RETRY_MS;
    // The reader may not see the page any more, or it does not exist any more. The page now says so.
    if (response.status === 403 || response.status === 404) return stop();
    if (!stream && incomplete === undefined) lostSince = 0;
  } catch {
    retryMs = RETRY_MS;
    lost();
  }
};

const schedule = () => {
  if (timer || isBusy || isPaused || isOver || isPast() || document.hidden) return;
  timer = setTimeout(
    async () => {
      timer = 0;
      isBusy = true;
      isStale = false;
      pace.onRefresh();
      await refresh();
      pace.onRefreshed();
      isBusy = false;
      if (!source) connect();
      showState();
      if (isStale || retryMs > 0) schedule();
    },
    pace.delay(retryMs || undefined),
  );
};

const onChange = () => {
  isStale = true;
  schedule();
};

const onMessage = (/** @type {MessageEvent} */ event) => {
  heardAt = Date.now();
  if (event.type === 'heartbeat') return;
  newestToken = event.lastEventId || newestToken;
  onChange();
};

/** Connects to the stream of changes, starting after the newest known change. */
const connect = () => {
  if (!stream || isOver || document.hidden) return;
  source?.close();
  const address = new URL(stream, location.href);
  if (newestToken && isLater(newestToken, address.searchParams.get('after') ?? '0')) address.searchParams.set('after', newestToken);
  source = new EventSource(address);
  source.onopen = () => {
    heardAt = Date.now();
    lostSince = 0;
    showState();
  };
  source.onerror = () => {
    lost();
    // The server ends the stream when the session ends. Refreshing the page shows whether it has, and why.
    onChange();
    // The server has refused the connection. After other errors, the browser connects again by itself.
    if (source?.readyState === EventSource.CLOSED) setTimeout(connect, RETRY_MS);
    showState();
  };
  for (const name of ['heartbeat', ...categories]) source.addEventListener(name, onMessage);
};

/** Fetches the page again if the parts of the platform that do not work are not those that the page names. */
const checkHealth = async () => {
  // Until this check has ended, no other one is due.
  healthAt = Number.POSITIVE_INFINITY;
  try {
    const response = await fetch('/readyz', { cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS) });
    const { degraded } = await response.json();
    const strip = /** @type {HTMLElement | null} */ (main.querySelector('[data-degraded]'));
    if (degraded.join(' ') !== (strip?.dataset.degraded ?? '')) onChange();
  } catch {
    // Then the stream ends, too, and the page shows this.
  }
  healthAt = Date.now();
};

/** Whether a time is over, or will be before half of the time until the next check. */
const isDue = (/** @type {number} */ ageMs, /** @type {number} */ afterMs) => ageMs >= afterMs - WATCH_MS / 2;

/**
 * Fetches a page again that must be, checks whether the connection is alive, and shows how long ago it was lost.
 */
const watch = () => {
  if (document.hidden || isOver || isPaused) return showState();
  if (poll && isDue(pace.age(), Number(poll))) onChange();
  else if (stream && isDue(Date.now() - healthAt, HEALTH_MS)) checkHealth();
  if (stream && Date.now() - heardAt > MAX_SILENCE_MS) {
    lost();
    heardAt = Date.now();
    connect();
  }
  showState();
};

if (url) {
  if (button) button.hidden = false;
  button?.addEventListener('click', () => {
    isPaused = !isPaused;
    pace.hurry();
    if (!isPaused) onChange();
    showState();
  });
  newRows?.addEventListener('click', () => {
    if (below > 0) return rows.showEnd();
    mayMove = true;
    pace.hurry();
    scrollTo({ top: 0 });
    onChange();
  });
  addEventListener('scrollend', () => {
    if (below === 0 || !rows.isAtEnd()) return;
    below = 0;
    showNewRows(0);
  });
  main.addEventListener('input', ({ target }) => {
    const form = /** @type {HTMLElement} */ (target).closest('form');
    if (form) form.dataset.typed = '';
  });
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      source?.close();
      source = null;
      return;
    }
    // The page is fetched once. After that, it follows the stream from there.
    onChange();
  });
  noteAge(main);
  if (incomplete !== undefined) lost();
  connect();
  if (isStale || retryMs > 0) schedule();
  setInterval(watch, WATCH_MS);
  showState();
}

if (rows.isOpened()) rows.showEnd();
