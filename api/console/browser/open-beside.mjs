// On a wide screen, a row of a list opens beside the list; elsewhere, its link leads to its page.

/** It must be the width at which the style shows a list and what is open in two columns. */
const WIDE = matchMedia('(min-width: 1100px)');
const KEY = 'annals-beside';

const opened = () => /** @type {HTMLElement | null} */ (document.querySelector('[data-open]'));

const rowOf = (/** @type {string} */ id) => document.querySelector(`[data-opens] [data-id="${CSS.escape(id)}"]`);

const topOf = (/** @type {Element} */ element) => element.getBoundingClientRect().top;

const isSeen = (/** @type {Element} */ row) => row.getBoundingClientRect().bottom > 0 && topOf(row) < innerHeight;

/** Names a page by its path and query, without the token that a saved form adds. */
const pageAt = (/** @type {string | URL} */ url) => {
  const { pathname, searchParams } = new URL(url, location.href);
  searchParams.delete('after');
  return `${pathname}?${searchParams}`;
};

/**
 * Keeps where the reader is, until the page `next` shows the list again. There, the rows can have other heights, so a row
 * is kept, and where it is on the screen: that of this id, or the first one that the reader sees. `isTab`: the reader
 * has opened another tab of the open delivery.
 */
const keepPlace = (/** @type {string} */ id, /** @type {string | URL} */ next, isTab = false) => {
  const own = rowOf(id);
  const row = own && isSeen(own) ? own : [...document.querySelectorAll('[data-opens] [data-id]')].find(isSeen);
  const open = opened();
  const place = {
    ...{ id, page: pageAt(next), isTab, y: scrollY, inner: open?.dataset.open === id ? open.scrollTop : 0 },
    ...(row && { row: row.getAttribute('data-id'), top: topOf(row) }),
  };
  try {
    sessionStorage.setItem(KEY, JSON.stringify(place));
  } catch {
    // Then the next page begins at its top.
  }
};

/** Goes to where the reader was on the page before, and moves the focus to the row, or to the tab. */
const restorePlace = () => {
  try {
    const { id, page, isTab, y, inner, row, top } = JSON.parse(sessionStorage.getItem(KEY) ?? '{}');
    sessionStorage.removeItem(KEY);
    if (id === undefined || page !== pageAt(location.href)) return;
    const shown = row === undefined ? null : rowOf(row);
    // After a step back, the browser would go to where this page was left, which the reader has left behind.
    history.scrollRestoration = 'manual';
    addEventListener('pagehide', () => (history.scrollRestoration = 'auto'), { once: true });
    scrollTo({ top: shown ? scrollY + topOf(shown) - top : y });
    opened()?.scrollTo({ top: inner });
    const focused = isTab ? opened()?.querySelector('.tabs [aria-current]') : rowOf(id)?.querySelector('.row-link');
    /** @type {HTMLElement | null | undefined} */ (focused)?.focus({ preventScroll: true });
  } catch {
    // Nothing was kept.
  }
};

/** Returns the id of the open delivery if a URL is this list with the same delivery beside it. */
const sameIn = (/** @type {string} */ url) => {
  const { pathname, searchParams } = new URL(url, location.href);
  const id = opened()?.dataset.open;
  return pathname === location.pathname && searchParams.get('open') === id ? id : undefined;
};

/** Keeps the place if the page to which a form returns is this list with the same delivery. */
const keepForReturn = (/** @type {string} */ returnTo) => {
  const id = sameIn(returnTo);
  if (id) keepPlace(id, returnTo);
};

const isPlain = (/** @type {MouseEvent} */ { defaultPrevented, button, ctrlKey, metaKey, shiftKey, altKey }) =>
  !defaultPrevented && button === 0 && !ctrlKey && !metaKey && !shiftKey && !altKey;

/** Returns the page to which one step back leads; null if it is not known, or of another host. */
const pageBefore = () => {
  const { navigation } = window;
  const index = navigation?.currentEntry?.index ?? 0;
  const url = index > 0 ? navigation.entries()[index - 1]?.url : null;
  return url ? pageAt(url) : null;
};

/** Goes back to the list if it was opened before the delivery. Otherwise, the list takes the place of the page in the history. */
const close = (/** @type {string} */ id, /** @type {HTMLAnchorElement} */ { href }, /** @type {MouseEvent} */ event) => {
  event.preventDefault();
  keepPlace(id, href);
  if (pageBefore() === pageAt(href)) history.back();
  else location.replace(href);
};

/** Keeps the place if a link of the open delivery closes it, leads to a tab of it, or to a form that returns to it. */
const onLink = (/** @type {HTMLAnchorElement} */ link, /** @type {MouseEvent} */ event) => {
  const id = opened()?.dataset.open;
  if (id && 'close' in link.dataset) return close(id, link, event);
  const url = new URL(link.href);
  const returnTo = url.searchParams.get('return_to');
  if (returnTo !== null) return keepForReturn(returnTo);
  const same = sameIn(link.href);
  if (!same) return;
  event.preventDefault();
  if (pageAt(url) === pageAt(location.href)) return;
  keepPlace(same, url, true);
  // Browsers scroll to what a fragment names until the page is loaded, and would lose the place in the list.
  url.hash = '';
  location.replace(url);
};

document.addEventListener('click', (event) => {
  const target = event.target instanceof Element ? event.target : null;
  if (!target || !isPlain(event) || !WIDE.matches) return;
  const link = /** @type {HTMLAnchorElement | null} */ (target.closest('.beside a[href]'));
  if (link) return onLink(link, event);
  const id = target.closest('[data-opens] .row-link')?.closest('[data-id]')?.getAttribute('data-id');
  if (!id) return;
  event.preventDefault();
  const url = new URL(location.href);
  url.searchParams.set('open', id);
  for (const name of ['tab', 'after']) url.searchParams.delete(name);
  url.hash = '';
  keepPlace(id, url);
  // One step back leads to the list, whatever was open beside it.
  if (opened()) location.replace(url);
  else location.assign(url);
});

document.addEventListener('submit', ({ target }) => {
  if (!(target instanceof HTMLFormElement) || !target.closest('.beside')) return;
  const returnTo = new FormData(target).get('_return');
  if (typeof returnTo === 'string') keepForReturn(returnTo);
});

const page = opened()?.dataset.page;
if (page && !WIDE.matches) location.replace(page);
else if (document.querySelector('[data-opens]')) restorePlace();
// A browser that goes back can show the list as it was, without loading it.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) restorePlace();
});
