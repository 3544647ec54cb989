/** The time in milliseconds between the last key press and the search. */
const DELAY_MS = 150;
const MAX_SHOWN = 50;
/** The time in milliseconds that the search for a text may take after the focus has left it. */
const TIMEOUT_MS = 10_000;

/**
 * A choice of a list. `kind` is a detail that follows the label.
 * @typedef {{ label: string, kind: string }} Choice
 */

export const element = (
  /** @type {string} */ name,
  /** @type {Record<string, string>} */ attributes,
  /** @type {(Node | string)[]} */ ...children
) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

/**
 * Creates the list of the choices of an input with the role `combobox`. The focus stays in the input, which names the
 * marked option.
 * @template {Choice} T
 * @param {HTMLInputElement} input
 * @param {string} id
 * @param {(choice: T) => void} choose
 */
export const createListbox = (input, id, choose) => {
  const list = element('ul', { id, role: 'listbox', 'aria-label': 'Results' });
  /** @type {readonly T[]} */
  let choices = [];
  let active = 0;

  const mark = (/** @type {number} */ index) => {
    active = Math.min(Math.max(index, 0), choices.length - 1);
    for (const [at, option] of [...list.children].entries()) option.setAttribute('aria-selected', String(at === active));
    const option = list.children[active];
    option?.scrollIntoView({ block: 'nearest' });
    if (option) input.setAttribute('aria-activedescendant', option.id);
    else input.removeAttribute('aria-activedescendant');
  };

  const chooseActive = () => {
    const choice = choices[active];
    if (choice) choose(choice);
  };

  const show = (/** @type {readonly T[]} */ found) => {
    choices = found;
    list.replaceChildren(
      ...choices.map(({ label, kind }, index) => {
        const parts = [element('span', {}, label), element('span', { class: 'quiet' }, kind)];
        const option = element('li', { id: `${id}-${index}`, role: 'option' }, ...parts);
        option.addEventListener('click', () => {
          mark(index);
          chooseActive();
        });
        return option;
      }),
    );
    mark(0);
  };

  /** Moves the mark, or chooses the marked option. @returns whether the key does this */
  const press = (/** @type {string} */ key) => {
    const moves = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 });
    const by = moves[key];
    if (by !== undefined) mark(active + by);
    else if (key === 'Enter') chooseActive();
    else return false;
    return true;
  };

  input.setAttribute('aria-controls', id);
  input.setAttribute('aria-autocomplete', 'list');
  return { list, show, press };
};

/** @typedef {Choice & { value: string }} Value */

const containsWords = (/** @type {string} */ text, /** @type {string} */ words) =>
  words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.toLowerCase().includes(word));

/**
 * Turns the select or text field in it into an input that searches the choices while one types, and shows what is
 * chosen as chips with a button that removes each. The field stays, hidden, and is what the form sends. Its id moves to
 * the input, so that labels and links still lead to what is shown, also after a live page was drawn again.
 *
 * - `data-what`: what is searched, such as `agent`.
 * - `data-source`: for a text field, the address of the search, which gets the typed text as `q`.
 * - `data-label`: the name of the value of a text field.
 * - `data-submit`: sends the form after each choice.
 */
class ComboBox extends HTMLElement {
  #field = /** @type {HTMLSelectElement | HTMLInputElement} */ (this.querySelector('select, input'));
  #id = this.#field.id;
  #input = /** @type {HTMLInputElement} */ (
    element('input', { id: this.#id, role: 'combobox', type: 'text', autocomplete: 'off', spellcheck: 'false', 'aria-expanded': 'false' })
  );
  #listbox = createListbox(this.#input, `${this.#id}-list`, (/** @type {Value} */ choice) => this.#choose(choice));
  #chips = element('ul', { class: 'chips' });
  #status = element('p', { role: 'status', class: 'quiet' });
  #box = element('div', { class: 'combobox-list' }, this.#listbox.list, this.#status);
  /** The name of the value of a text field. */
  #name = this.dataset.label ?? '';
  #isRequired = this.#field.required;
  #timer = 0;
  #running = new AbortController();

  connectedCallback() {
    if (this.contains(this.#input)) return;
    const field = this.#field;
    field.id = `${this.#id}-value`;
    field.hidden = true;
    field.required = false;
    for (const name of ['aria-describedby', 'aria-invalid'])
      if (field.hasAttribute(name)) this.#input.setAttribute(name, field.getAttribute(name) ?? '');
    this.#input.placeholder = this.#choices().find(({ value }) => value === '')?.label ?? '';
    field.before(this.#chips, this.#input, this.#box);
    if (field.autofocus) this.#input.focus();
    this.#close();
    this.#showChips();
    this.#input.addEventListener('input', () => this.#search());
    this.#input.addEventListener('click', () => this.#search());
    this.#input.addEventListener('keydown', (event) => this.#press(event));
    this.#input.addEventListener('blur', (event) => this.#leave(event));
    // A click on an option must not take the focus from the input.
    this.#box.addEventListener('pointerdown', (event) => event.preventDefault());
    field.form?.addEventListener('reset', () => setTimeout(() => this.#showChips()));
    // A choice elsewhere in the form can hide this field.
    field.form?.addEventListener('change', () => this.#refuseText());
    addEventListener('pageshow', () => this.#showChips());
  }

  /** @returns {Value[]} the choices of a select; none for a text field */
  #choices() {
    if (!(this.#field instanceof HTMLSelectElement)) return [];
    return [...this.#field.options].map((option) => ({ value: option.value, label: option.text, kind: option.dataset.detail ?? '' }));
  }

  /** @returns {Value[]} */
  #chosen() {
    const { value } = this.#field;
    if (!(this.#field instanceof HTMLSelectElement)) return value === '' ? [] : [{ value, label: this.#name || value, kind: '' }];
    const selected = [...this.#field.selectedOptions].map((option) => option.value);
    return this.#choices().filter((one) => one.value !== '' && selected.includes(one.value));
  }

  #showChips() {
    const chosen = this.#chosen();
    this.#chips.replaceChildren(
      ...chosen.map((one) => {
        const remove = element('button', { type: 'button', 'aria-label': `Remove ${one.label}` }, '×');
        remove.addEventListener('click', () => {
          this.#set(one, false);
          this.#input.focus();
        });
        return element('li', {}, element('span', {}, one.label), remove);
      }),
    );
    this.#input.required = this.#isRequired && chosen.length === 0;
    this.#refuseText();
    this.toggleAttribute('data-chosen', chosen.length > 0);
  }

  /**
   * Makes the browser refuse to send the form while a typed text is not chosen, because the form would not contain it. A
   * browser cannot show the reason at a hidden field, so a text there is ignored.
   */
  #refuseText() {
    const isPending = this.#input.value.trim() !== '' && this.#input.checkVisibility();
    this.#input.setCustomValidity(isPending ? 'Choose one of the list' : '');
  }

  #set(/** @type {Value} */ { value, label }, /** @type {boolean} */ isChosen) {
    const field = this.#field;
    const option = field instanceof HTMLSelectElement && [...field.options].find((one) => one.value === value);
    if (option && field.matches('[multiple]')) option.selected = isChosen;
    else field.value = isChosen ? value : '';
    this.#name = label;
    this.#showChips();
    for (const name of ['input', 'change']) field.dispatchEvent(new Event(name, { bubbles: true }));
    if ('submit' in this.dataset) field.form?.requestSubmit();
  }

  #choose(/** @type {Value} */ choice) {
    this.#input.value = '';
    this.#close();
    this.#set(choice, true);
  }

  /**
   * Chooses what was typed if it can only mean one choice; otherwise, the text stays. A choice that sends the form must not
   * compete with a link that was clicked. So it is made only if the focus goes on within the form.
   */
  async #leave(/** @type {FocusEvent} */ { relatedTarget }) {
    const text = this.#input.value.trim();
    this.#close();
    // The focus also leaves if another window gets it. The input is then still the active element.
    if (text === '' || document.activeElement === this.#input) return;
    if ('submit' in this.dataset && !this.#field.form?.contains(/** @type {Node | null} */ (relatedTarget))) return;
    const found = await this.#find(text, AbortSignal.timeout(TIMEOUT_MS)).catch(() => []);
    const same = found.filter(({ label }) => label.toLowerCase() === text.toLowerCase());
    const [only, ...others] = same.length > 0 ? same : found;
    if (only && others.length === 0 && text === this.#input.value.trim() && document.activeElement !== this.#input) this.#choose(only);
  }

  #close() {
    clearTimeout(this.#timer);
    this.#running.abort();
    this.#box.hidden = true;
    this.#input.setAttribute('aria-expanded', 'false');
    this.#input.removeAttribute('aria-activedescendant');
  }

  #show(/** @type {Value[]} */ found, /** @type {string} */ text) {
    const shown = found.slice(0, MAX_SHOWN);
    this.#box.hidden = false;
    this.#input.setAttribute('aria-expanded', String(shown.length > 0));
    this.#listbox.list.hidden = shown.length === 0;
    this.#listbox.show(shown);
    this.#status.textContent = shown.length > 0 ? '' : text;
  }

  /** @returns {Value[]} the choices that contain a text, of those that the page has */
  #matching(/** @type {string} */ text) {
    return this.#others(this.#choices()).filter(({ label, kind }) => containsWords(`${label} ${kind}`, text));
  }

  /** @returns {Value[]} without what is chosen */
  #others(/** @type {Value[]} */ all) {
    const taken = new Set(this.#chosen().map(({ value }) => value)).add('');
    return all.filter(({ value }) => !taken.has(value));
  }

  /** @returns {Promise<Value[]>} the choices that contain a text, of the page or of the source */
  async #find(/** @type {string} */ text, /** @type {AbortSignal} */ signal) {
    const { source } = this.dataset;
    if (!source) return this.#matching(text);
    const response = await fetch(`${source}&q=${encodeURIComponent(text)}`, { signal });
    /** @type {{ id: string, label: string, detail: string | null }[]} */
    const items = await response.json();
    return this.#others(items.map(({ id, label, detail }) => ({ value: id, label, kind: detail ?? '' })));
  }

  #search() {
    clearTimeout(this.#timer);
    this.#running.abort();
    this.#refuseText();
    const { what = 'choice', source } = this.dataset;
    const text = this.#input.value.trim();
    const nothing = text === '' ? `There is no other ${what}.` : `No ${what} matches “${text}”.`;
    if (!source) return this.#show(this.#matching(text), nothing);
    this.#running = new AbortController();
    const { signal } = this.#running;
    this.#timer = setTimeout(async () => {
      try {
        const found = await this.#find(text, signal);
        if (!signal.aborted) this.#show(found, nothing);
      } catch {
        if (!signal.aborted) this.#show([], 'The search failed. Try again.');
      }
    }, DELAY_MS);
  }

  #press(/** @type {KeyboardEvent} */ event) {
    const isOpen = !this.#box.hidden;
    const last = this.#chosen().at(-1);
    if (event.key === 'Escape' && isOpen) this.#close();
    else if (event.key === 'Backspace' && this.#input.value === '' && last) this.#set(last, false);
    else if (isOpen ? !this.#listbox.press(event.key) : !/^Arrow(Up|Down)$/.test(event.key)) return;
    else if (!isOpen) this.#search();
    event.preventDefault();
  }
}

if (!customElements.get('combo-box')) customElements.define('combo-box', ComboBox);
