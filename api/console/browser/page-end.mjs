/** A page that is read from its end, such as a conversation, marks this end. */
const endOf = () => document.querySelector('[data-page-end]');

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
const isOpened = () => {
  const [entry] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType('navigation'));
  return entry?.type === 'navigate' && location.hash === '';
};

if (isOpened()) showEnd();
