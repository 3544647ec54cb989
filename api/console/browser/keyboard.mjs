const SEQUENCE_TIMEOUT_MS = 1_200;

/** The rows of all lists: the rows of tables, and the items of lists that stand for a resource or lead to a page. */
const ROWS = 'main :is(table.list > tbody > tr, li[data-id], li:has(> .row-link))';
const FILTER_FIELD = 'main form[method="get"] :is(input:not([type="hidden"]), select)';
const FILTER_LINK = 'main nav.tabs a';

let before = '';
let timer = 0;

const isField = (/** @type {EventTarget | null} */ target) =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input:not([type="range"]), textarea, select'));

/** Returns where keys act: in the dialog or popover that is open; if there is none, in the whole page. */
const scope = () => [...document.querySelectorAll('dialog[open], :popover-open')].at(-1) ?? document;

const rows = () => [...scope().querySelectorAll(ROWS)];

/** Moves the focus by `by` rows: to the link of the row, or else to what opens it, to its first control, or to the row itself. */
const moveFocus = (/** @type {number} */ by) => {
  const all = rows();
  const at = all.findIndex((row) => row.contains(document.activeElement));
  const row = all[at === -1 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))];
  const control = ['.row-link', 'summary', 'a[href], button'].map((each) => row?.querySelector(each)).find((each) => each);
  if (row && !control) row.setAttribute('tabindex', '-1');
  /** @type {HTMLElement | undefined} */ (control ?? row)?.focus();
};

/** Returns the element that has these keys; undefined if there is none. */
const elementOf = (/** @type {string} */ keys) => {
  const selectors = [`[data-hotkey=${JSON.stringify(keys)}]:not([hidden])`, ...(keys === '/' ? [FILTER_FIELD, FILTER_LINK] : [])];
  return /** @type {HTMLElement | undefined} */ (selectors.map((each) => scope().querySelector(each)).find((each) => each !== null));
};

/** Returns the keys that the page offers, each with what it does. */
const keysOfPage = () => {
  /** @type {[string, string][]} */
  const named = [...document.querySelectorAll('[data-hotkey]:not([hidden])')].map((each) => [
    each.getAttribute('data-hotkey') ?? '',
    each.getAttribute('data-key-name') ?? each.getAttribute('aria-label') ?? each.textContent ?? '',
  ]);
  /** @type {[boolean, string, string][]} */
  const others = [
    [elementOf('/') !== undefined, '/', 'First filter'],
    [rows().length > 0, 'j', 'Next row'],
    [rows().length > 0, 'k', 'Previous row'],
    [rows().length > 0, 'Enter', 'Open the row'],
    [document.querySelector('[data-palette]') !== null, 'Ctrl K', 'Find anything'],
  ];
  for (const [isThere, keys, name] of others) if (isThere) named.push([keys, name]);
  return [...new Map(named)];
};

const element = (/** @type {string} */ name, /** @type {(Node | string)[]} */ ...children) => {
  const made = document.createElement(name);
  made.append(...children);
  return made;
};

/** Shows the keys of the page in a dialog. */
const showKeys = () => {
  const close = element('button', 'Close');
  const list = keysOfPage().map(([keys, name]) =>
    element('div', element('dt', ...keys.split(' ').map((key) => element('kbd', key))), element('dd', name.trim())),
  );
  const dialog = /** @type {HTMLDialogElement} */ (element('dialog', element('h2', 'Keys of this page'), element('dl', ...list), close));
  dialog.className = 'palette keys';
  dialog.setAttribute('aria-label', 'Keys of this page');
  close.addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
};

const opener = /** @type {HTMLElement | null} */ (document.querySelector('[data-hotkey="?"]'));
if (opener) opener.hidden = false;
opener?.addEventListener('click', showKeys);

/**
 * Follows a link, presses a button or focuses a field when its keys are pressed. The keys are in `data-hotkey`, for
 * example `g d`. People can switch this off, because speech input or a slip of the hand can press single keys.
 */
document.addEventListener('keydown', (event) => {
  if (document.documentElement.dataset.keys === 'off') return;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return;
  const keys = before === '' ? event.key : `${before} ${event.key}`;
  before = event.key === 'g' ? 'g' : '';
  clearTimeout(timer);
  timer = setTimeout(() => {
    before = '';
  }, SEQUENCE_TIMEOUT_MS);
  if (keys === 'j' || keys === 'k') return moveFocus(keys === 'j' ? 1 : -1);
  const found = elementOf(keys);
  if (!found) return;
  event.preventDefault();
  for (let part = found.closest('details:not([open])'); keys === '/' && part; part = found.closest('details:not([open])'))
    part.setAttribute('open', '');
  if (keys === '/') found.focus();
  else found.click();
});
