// A form that is sent when its visitor must sign in again is filled in again after the sign-in. Until then, what was typed
// is kept in the tab, without secrets and files.

/**
 * What was typed in a form. `omitted`: the names of the filled secrets and files, which are not kept; `isDue`: the visitor was asked to
 * sign in, so the form is filled in again on the next page that shows it.
 * @typedef {{ operation: string, action: string, fields: [string, string][], omitted: string[], user: string, at: number, isDue: boolean }} Kept
 */

const KEY = 'annals-form';
const MAX_AGE_MS = 3_600_000;

/** The id of the signed-in visitor; absent on pages before the sign-in. */
const user = /** @type {HTMLElement | null} */ (document.querySelector('[data-user]'))?.dataset.user;

/** @returns {Kept | null} */
const read = () => {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? 'null');
  } catch {
    return null;
  }
};

const write = (/** @type {Kept | null} */ kept) => {
  try {
    if (kept) sessionStorage.setItem(KEY, JSON.stringify(kept));
    else sessionStorage.removeItem(KEY);
  } catch {
    // Then the form must be filled in by hand.
  }
};

const fieldsOf = (/** @type {HTMLFormElement} */ form) =>
  /** @type {[string, string][]} */ ([...new FormData(form)].filter(([, value]) => typeof value === 'string'));

const keep = (/** @type {HTMLFormElement} */ form, /** @type {boolean} */ isDue) => {
  const unkept = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll('[data-unkept], [type="file"], [type="password"]')]);
  const names = new Set(unkept.map(({ name }) => name));
  write({
    ...{ operation: form.dataset.form ?? '', action: form.getAttribute('action') ?? '', user: user ?? '', at: Date.now(), isDue },
    fields: fieldsOf(form).filter(([name]) => !names.has(name) && name !== '_reviewed'),
    omitted: unkept.filter(({ value }) => value !== '').map(({ name }) => name),
  });
};

/** The ids of the resources that a form is about, as a text. */
const idsOf = (/** @type {[string, string][]} */ fields) => JSON.stringify(fields.filter(([name]) => name.startsWith(':')).toSorted());

/** Requests the form with these fields. It sends nothing to the API. */
const request = (/** @type {Kept} */ { action, fields, omitted }) => {
  const form = document.createElement('form');
  [form.method, form.action, form.hidden] = ['post', action, true];
  const all = [...fields, ['_again', '1'], ...omitted.map((name) => ['_omitted', name])];
  for (const [name = '', value = ''] of all) form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }));
  document.body.append(form);
  form.submit();
};

const fill = (/** @type {HTMLFormElement} */ form, /** @type {Kept} */ { fields, omitted }) => {
  for (const [name, value] of fields) {
    const control = form.elements.namedItem(name);
    if (control instanceof HTMLTextAreaElement || (control instanceof HTMLInputElement && control.type === 'text')) control.value = value;
  }
  form.dataset.typed = '';
  const note = Object.assign(document.createElement('p'), {
    className: 'quiet',
    textContent: 'Choose the files again: a browser does not keep them.',
  });
  if (omitted.length > 0) form.querySelector('[type="file"]')?.after(note);
};

const restore = (/** @type {Kept} */ kept) => {
  const forms = /** @type {HTMLFormElement[]} */ ([...document.querySelectorAll(`form[data-form="${CSS.escape(kept.operation)}"]`)]);
  const form = forms.find((one) => one.getAttribute('action') === kept.action && idsOf(fieldsOf(one)) === idsOf(kept.fields));
  if (!form) return;
  if (location.pathname.startsWith('/console/run/')) request(kept);
  else fill(form, kept);
};

document.addEventListener('submit', ({ target, defaultPrevented }) => {
  if (target instanceof HTMLFormElement && target.dataset.form && !defaultPrevented) keep(target, false);
});

document.addEventListener('click', ({ target }) => {
  const link = target instanceof Element ? target.closest('[data-sign-in]') : null;
  const form = link && (link.closest('form') ?? document.querySelector('#main form[data-form][data-typed]'));
  if (form) keep(/** @type {HTMLFormElement} */ (form), true);
});

const kept = read();
const ended = document.querySelector('[data-form-ended]');
if (kept && ended) {
  write({ ...kept, isDue: true });
  ended.removeAttribute('hidden');
} else if (kept && user !== undefined) {
  write(null);
  if (kept.isDue && kept.user === user && Date.now() - kept.at < MAX_AGE_MS) restore(kept);
}
