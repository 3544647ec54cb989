/** @type {Readonly<Record<string, number>>} */
const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 };

/**
 * Returns the index of the day to which an arrow key moves from the day at `index`. `count` is the number of days. Null
 * if the key is not an arrow key, or there is no such day.
 */
export const dayAfterKey = (/** @type {string} */ key, /** @type {number} */ index, /** @type {number} */ count) => {
  const step = STEPS[key];
  const next = step === undefined ? -1 : index + step;
  return index >= 0 && next >= 0 && next < count ? next : null;
};

/** In a calendar, arrow keys move the focus from day to day. The Enter key opens the day, because days are links. */
globalThis.document?.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const days = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('.calendar a[data-day]')]);
  const next = dayAfterKey(event.key, days.indexOf(/** @type {HTMLElement} */ (document.activeElement)), days.length);
  if (next === null) return;
  event.preventDefault();
  days[next]?.focus();
});
