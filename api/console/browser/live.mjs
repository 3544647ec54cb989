import { Idiomorph } from './idiomorph.mjs';
import { createRefreshPace } from './refresh-pace.mjs';

/** After this time without a message, the connection counts as lost. The stream sends a heartbeat every 15 s. */
const MAX_SILENCE_MS = 20_000;
const RETRY_MS = 2_000;
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
const { refresh: url = '', stream = '', poll = '' } = main.dataset;
const categories = (main.dataset.categories ?? '').split(' ');
const pace = createRefreshPace(poll ? Number(poll) : undefined);

/** @type {EventSource | null} */
let source = null;
let newestToken = '';
let heardAt = Date.now();
let lostSince = 0;
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

const labelOf = (/** @type {Element | null} */ element) => element?.querySelector('[data-label]');

const say = (/** @type {string} */ text) => {
  if (status && status.textContent !== text) status.textContent = text;
};

const secondsText = (/** @type {number} */ ms) => {
  const seconds = Math.floor(ms / 1_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
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
  const label = labelOf(button);
  if (label) label.textContent = texts[state];
};

/** Gives each row an id. By the ids, Idiomorph recognises rows that have moved. */
const nameRows = (/** @type {Element} */ root) => {
  for (const row of root.querySelectorAll('[data-id]:not([id])'))
    row.id = `row-${row.getAttribute('data-kind') ?? ''}-${row.getAttribute('data-id')}`;
};

const rowsOf = (/** @type {Element} */ root) => [...root.querySelectorAll('tr[data-id], li[data-id]')].map((row) => row.id);

/**
 * Keeps what the reader has changed when the page is replaced: open details and dialogs, typed texts, and results of
 * checks.
 */
const CALLBACKS = {
  /** @type {(name: string, element: Element) => boolean} */
  beforeAttributeUpdated: (name, element) => !(name === 'open' && /^(DETAILS|DIALOG)$/.test(element.tagName)),
  /** @type {(old: Node, next: Node) => boolean} */
  beforeNodeMorphed: (old, next) => {
    if (!(old instanceof HTMLElement) || !(next instanceof HTMLElement)) return true;
    if (old instanceof HTMLFormElement) return !('typed' in old.dataset) && !old.contains(document.activeElement);
    if (!old.localName.includes('-') || old.localName === 'chart-brush') return true;
    for (const name of ['datetime', 'title', 'data-text'])
      if (next.hasAttribute(name) && next.getAttribute(name) !== old.getAttribute(name))
        old.setAttribute(name, next.getAttribute(name) ?? '');
    return false;
  },
};

const showNewRows = (/** @type {number} */ count) => {
  if (!newRows) return;
  const text = `${count} new`;
  newRows.hidden = count === 0;
  const label = labelOf(newRows);
  if (label && count > 0) label.textContent = text;
  if (count > 0) say(text);
};

/**
 * If a page says that its data is old, it is fetched again, and this time waits for the change that it lacks.
 */
const noteAge = (/** @type {Element} */ root) => {
  const strip = /** @type {HTMLElement | null} */ (root.querySelector('[data-stale]'));
  if (!strip) return;
  isStale = true;
  newestToken ||= strip.dataset.missed ?? '';
};

/**
 * Replaces the content by that of the fetched page. If the page is scrolled down, only announces how many rows are new.
 */
const show = (/** @type {string} */ html) => {
  const next = new DOMParser().parseFromString(html, 'text/html').querySelector('#main');
  if (!next) return;
  noteAge(next);
  nameRows(main);
  nameRows(next);
  const known = new Set(rowsOf(main));
  const count = known.size === 0 ? 0 : rowsOf(next).filter((id) => !known.has(id)).length;
  if (count > 0 && scrollY > TOP_PX && !mayMove) return showNewRows(count);
  mayMove = false;
  showNewRows(0);
  Idiomorph.morph(main, next, { morphStyle: 'outerHTML', ignoreActiveValue: true, callbacks: CALLBACKS });
};

const stop = () => {
  isOver = true;
  source?.close();
  ended?.removeAttribute('hidden');
};

const lost = () => {
  lostSince ||= Date.now();
};

/** Fetches the page again. A redirect leads to the sign-in page, so it means that the session has ended. */
const refresh = async () => {
  /** @type {Record<string, string>} */
  const headers = { 'x-console-refresh': '1', ...(newestToken && { 'consistency-token': newestToken }) };
  try {
    const response = await fetch(url, { headers, redirect: 'manual', cache: 'no-store' });
    if (response.type === 'opaqueredirect' || response.status === 401) return stop();
    const isPage = response.headers.get('content-type')?.startsWith('text/html');
    if (isPage && response.status !== 429) show(await response.text());
    else isStale = true;
    if (!stream) lostSince = 0;
  } catch {
    isStale = true;
    lost();
  }
};

const schedule = () => {
  if (timer || isBusy || isPaused || isOver || document.hidden) return;
  timer = setTimeout(
    async () => {
      timer = 0;
      isBusy = true;
      isStale = false;
      pace.onRefresh();
      await refresh();
      isBusy = false;
      showState();
      if (isStale) schedule();
    },
    pace.delay(lostSince > 0 ? RETRY_MS : undefined),
  );
};

const onChange = () => {
  pace.onChange(!isStale);
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
  if (!stream || isOver) return;
  source?.close();
  const address = new URL(stream, location.href);
  if (newestToken) address.searchParams.set('after', newestToken);
  source = new EventSource(address);
  source.onopen = () => {
    heardAt = Date.now();
    lostSince = 0;
    showState();
  };
  source.onerror = () => {
    lost();
    // The server has refused the connection. Refreshing the page shows whether the session has ended. After other
    // errors, the browser connects again by itself.
    if (source?.readyState === EventSource.CLOSED) {
      onChange();
      setTimeout(() => document.hidden || connect(), RETRY_MS);
    }
    showState();
  };
  for (const name of ['heartbeat', ...categories]) source.addEventListener(name, onMessage);
};

/** Checks every second whether the connection is alive, and shows how long ago it was lost. */
const watch = () => {
  if (document.hidden || isOver) return;
  if (poll && pace.age() >= Number(poll)) onChange();
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
    mayMove = true;
    pace.hurry();
    scrollTo({ top: 0 });
    onChange();
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
    connect();
    onChange();
  });
  noteAge(main);
  connect();
  if (isStale) schedule();
  setInterval(watch, 1_000);
  showState();
}
