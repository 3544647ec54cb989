import { Idiomorph } from './idiomorph.mjs';

/** The minimum time between two requests. */
const MIN_INTERVAL_MS = 300;

const form = /** @type {HTMLFormElement | null} */ (document.querySelector('form[data-preview]'));
const panel = /** @type {HTMLElement | null} */ (document.querySelector('[data-panel]'));

/** The pointers of the fields in which something was typed. Errors are shown only at these fields. */
const typed = new Set();
let sentAt = 0;
let sentText = '';
let timer = 0;
let isBusy = false;
/** Whether something was typed while a request was running. */
let isDue = false;

const fieldsOf = (/** @type {ParentNode} */ root) =>
  /** @type {HTMLElement[]} */ ([...root.querySelectorAll('form[data-preview] .field[data-pointer]')]);

const errorOf = (/** @type {Element | undefined} */ field) =>
  field?.querySelector(':scope > .field-error, :scope.check > div > .field-error');

/** Shows the error of the fetched form at a field, or removes the error that the field had. */
const showError = (/** @type {HTMLElement} */ field, /** @type {HTMLElement | undefined} */ next) => {
  const [old, error] = [errorOf(field), errorOf(next)];
  if (old && error) return old.replaceWith(error);
  old?.remove();
  if (error && typed.has(field.dataset.pointer)) field.append(error);
};

/** Marks a control for screen readers as the fetched form does. */
const markControl = (/** @type {HTMLElement} */ field, /** @type {HTMLElement | undefined} */ next) => {
  const control = field.querySelector('[id^="f-"]:is(input, select, textarea)');
  const other = control && next?.querySelector(`#${CSS.escape(control.id)}`);
  if (!control || !other) return;
  const isMarked = errorOf(field) !== null;
  for (const name of ['aria-invalid', 'aria-describedby']) {
    const value = other.getAttribute(name);
    if (value === null || (name === 'aria-invalid' && !isMarked)) control.removeAttribute(name);
    else control.setAttribute(name, value);
  }
};

const show = (/** @type {string} */ html) => {
  const next = new DOMParser().parseFromString(html, 'text/html');
  const result = next.querySelector('[data-panel]');
  if (!result || !panel) return;
  const [act, nextAct] = [form?.querySelector('[data-act]'), next.querySelector('[data-act]')];
  if (act && nextAct) act.textContent = nextAct.textContent;
  const [summary, nextSummary] = [form?.querySelector('[data-summary]'), next.querySelector('form[data-preview] [data-summary]')];
  if (summary && nextSummary) summary.replaceWith(nextSummary);
  const fetched = new Map(fieldsOf(next).map((field) => [field.dataset.pointer, field]));
  for (const field of fieldsOf(document)) {
    const other = fetched.get(field.dataset.pointer);
    showError(field, other);
    markControl(field, other);
  }
  /** @type {(name: string, element: Element) => boolean} */
  const beforeAttributeUpdated = (name, element) => !(name === 'open' && element.tagName === 'DETAILS');
  Idiomorph.morph(panel, [...result.childNodes], { morphStyle: 'innerHTML', callbacks: { beforeAttributeUpdated } });
};

/** The fields of the form, as its preview button sends them. */
const fieldsText = () => {
  // The compiler expects only texts here. The form has no field for files.
  const fields = new URLSearchParams(/** @type {any} */ (new FormData(/** @type {HTMLFormElement} */ (form))));
  fields.set('_preview', '1');
  return fields.toString();
};

const send = async () => {
  timer = 0;
  const text = fieldsText();
  if (!form || text === sentText) return;
  [isBusy, sentAt, sentText] = [true, Date.now(), text];
  panel?.setAttribute('aria-busy', 'true');
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  try {
    const response = await fetch(form.action, { method: 'POST', body: text, headers, redirect: 'manual', cache: 'no-store' });
    if (response.status === 200 || response.status === 422) show(await response.text());
    else sentText = '';
  } catch {
    // The button of the form still works, and the next input tries again.
    sentText = '';
  }
  panel?.removeAttribute('aria-busy');
  isBusy = false;
  if (isDue) schedule();
};

/**
 * Sends the fields as soon as this is allowed. While a request is running, no other is sent. So the panel always shows
 * the answer to the newest request.
 */
const schedule = () => {
  isDue = isBusy;
  if (isBusy || timer) return;
  timer = setTimeout(send, Math.max(MIN_INTERVAL_MS / 2, sentAt + MIN_INTERVAL_MS - Date.now()));
};

form?.addEventListener('input', ({ target }) => {
  const field = /** @type {HTMLElement | null} */ (/** @type {Element} */ (target).closest('[data-pointer]'));
  if (field) typed.add(field.dataset.pointer);
  schedule();
});
if (form?.dataset.preview === 'now') schedule();
else if (form) sentText = fieldsText();
