const SEQUENCE_TIMEOUT_MS = 1_200;

let before = '';
let timer = 0;

const isTyping = (/** @type {EventTarget | null} */ target) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

const rows = () => /** @type {HTMLElement[]} */ ([...document.querySelectorAll('main a.row-link')]);

/** Moves the focus by `by` rows in a list. */
const moveFocus = (/** @type {number} */ by) => {
  const all = rows();
  const at = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const next = all[at === -1 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))];
  next?.focus();
};

/** Follows a link or focuses a field when its keys are pressed. The keys are in `data-hotkey`, for example `g d`. */
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const keys = before === '' ? event.key : `${before} ${event.key}`;
  before = event.key === 'g' ? 'g' : '';
  clearTimeout(timer);
  timer = setTimeout(() => {
    before = '';
  }, SEQUENCE_TIMEOUT_MS);
  if (keys === 'j' || keys === 'k') return moveFocus(keys === 'j' ? 1 : -1);
  const found = /** @type {HTMLElement | null} */ (document.querySelector(`[data-hotkey="${CSS.escape(keys).replaceAll('\\ ', ' ')}"]`));
  if (!found) return;
  event.preventDefault();
  if (isTyping(found)) found.focus();
  else found.click();
});
