import { Idiomorph } from './idiomorph.mjs';

/**
 * Gives each row an id. By the ids, Idiomorph recognises rows that have moved. If a resource has several rows, their ids
 * differ by a number.
 */
export const nameRows = (/** @type {Element} */ root) => {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const row of root.querySelectorAll('[data-id]:is(:not([id]), [id^="row-"])')) {
    const name = `row-${row.getAttribute('data-kind') ?? ''}-${row.getAttribute('data-id')}`;
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    row.id = count === 1 ? name : `${name}-${count}`;
  }
};

export const rowsOf = (/** @type {Element} */ root) => [...root.querySelectorAll('tr[data-id], li[data-id]')].map((row) => row.id);

/**
 * Returns how many new rows would move the rows that the reader sees. Rows after the last known one, such as the next
 * messages of a conversation, move none.
 */
export const countMoving = (/** @type {string[]} */ old, /** @type {string[]} */ next) => {
  if (old.length === 0) return 0;
  const known = new Set(old);
  const last = next.findLastIndex((id) => known.has(id));
  return (last < 0 ? next : next.slice(0, last)).filter((id) => !known.has(id)).length;
};

export const labelOf = (/** @type {Element | null} */ element) => element?.querySelector('[data-label]');

/** Shows on the button how many rows are new, or hides it. @returns whether it is shown */
export const announceRows = (/** @type {HTMLElement} */ button, /** @type {number} */ count, /** @type {boolean} */ isBelow) => {
  button.hidden = count === 0;
  button.toggleAttribute('data-below', isBelow);
  if (count > 0) labelOf(button)?.replaceChildren(`${count} new${isBelow ? ' below' : ''}`);
  return count > 0;
};

/**
 * Keeps what the reader has changed when the page is replaced: open details and dialogs, typed texts, and results of
 * checks.
 */
export const KEEP = {
  // Of a list that only grows, a page has the last rows. Those that are shown stay, so that nothing moves, except the draft
  // of the next one.
  /** @type {(node: Node) => boolean} */
  beforeNodeRemoved: (node) => !(node instanceof HTMLLIElement && node.id !== 'draft' && node.parentElement?.matches('[data-grows]')),
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

/** Changes an element of the page so that it looks like another one. Does nothing if one of them does not exist. */
export const morph = (/** @type {Element | null} */ old, /** @type {Element | null} */ next) => {
  if (old && next) Idiomorph.morph(old, next, { morphStyle: 'outerHTML', ignoreActiveValue: true, callbacks: KEEP });
};

/** Changes the navigation so that it looks like that of a fetched page. What is unknown there stays as it is. */
export const morphNav = (/** @type {Element | null} */ old, /** @type {HTMLElement | null} */ next) => {
  if (!old || !next || next.dataset.entries === 'unknown') return;
  if (next.dataset.counts === 'unknown')
    for (const count of old.querySelectorAll('.nav-count'))
      next.querySelector(`a[href="${count.closest('a')?.getAttribute('href')}"]`)?.append(count.cloneNode(true));
  morph(old, next);
};

/** Returns how many new rows follow the last known one. */
export const countFollowing = (/** @type {string[]} */ old, /** @type {string[]} */ next) => {
  const known = new Set(old);
  return next.length - 1 - next.findLastIndex((id) => known.has(id));
};

/** A page that is read from its end, such as a conversation, marks this end. */
export const endOf = () => document.querySelector('[data-page-end]');

/** Whether the reader sees the end of a page that is read from there. */
export const isAtEnd = () => {
  const end = endOf();
  if (!end) return false;
  const { top } = end.getBoundingClientRect();
  return top > 0 && top <= innerHeight + 2;
};

/** Scrolls to the end of a page that is read from there. */
export const showEnd = () => endOf()?.scrollIntoView({ block: 'end' });

/** Whether the page was opened by a link, which names no part of it. Otherwise, the browser restores where it was. */
export const isOpened = () => {
  const [entry] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType('navigation'));
  return entry?.type === 'navigate' && location.hash === '';
};
