// On a wide screen, a row of a list opens beside the list; elsewhere, its link leads to its page.

/** It must be the width at which the style shows a list and what is open in two columns. */
const WIDE = matchMedia('(min-width: 1100px)');
const KEY = 'annals-beside';

const opened = /** @type {HTMLElement | null} */ (document.querySelector('[data-open]'));

/** Keeps where the reader is, for the page that comes next. */
const keepPlace = (/** @type {string} */ id) => {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ id, y: scrollY }));
  } catch {
    // Then the next page begins at its top.
  }
};

/** Goes to where the reader was on the page before, and moves the focus to the row. */
const restorePlace = () => {
  try {
    const { id, y } = JSON.parse(sessionStorage.getItem(KEY) ?? '{}');
    sessionStorage.removeItem(KEY);
    if (id === undefined) return;
    scrollTo({ top: y });
    const link = document.querySelector(`[data-opens] [data-id="${CSS.escape(id)}"] .row-link`);
    /** @type {HTMLElement | null} */ (link)?.focus({ preventScroll: true });
  } catch {
    // Nothing was kept.
  }
};

const isPlain = (/** @type {MouseEvent} */ { defaultPrevented, button, ctrlKey, metaKey, shiftKey, altKey }) =>
  !defaultPrevented && button === 0 && !ctrlKey && !metaKey && !shiftKey && !altKey;

document.addEventListener('click', (event) => {
  const target = event.target instanceof Element ? event.target : null;
  if (target?.closest('[data-close]') && opened?.dataset.open) return keepPlace(opened.dataset.open);
  const id = target?.closest('[data-opens] .row-link')?.closest('[data-id]')?.getAttribute('data-id');
  if (!id || !isPlain(event) || !WIDE.matches) return;
  event.preventDefault();
  const url = new URL(location.href);
  url.searchParams.set('open', id);
  for (const name of ['tab', 'after']) url.searchParams.delete(name);
  keepPlace(id);
  // One step back leads to the list, whatever was open beside it.
  if (opened) location.replace(url);
  else location.assign(url);
});

if (opened?.dataset.page && !WIDE.matches) location.replace(opened.dataset.page);
else restorePlace();
