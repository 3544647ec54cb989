const CONFIRMED_MS = 1_500;

/** Copies a text. On pages without https, browsers have no API for this, so the text is selected and copied. */
const copy = async (/** @type {Promise<string>} */ text) => {
  if (navigator.clipboard) {
    const blob = text.then((content) => new Blob([content], { type: 'text/plain' }));
    return navigator.clipboard.write([new ClipboardItem({ 'text/plain': blob })]);
  }
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  const area = document.createElement('textarea');
  area.value = await text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
  focused?.focus();
};

/** Asks for the main answer of the page again, and returns it as JSON or CSV. */
const answerAs = async (/** @type {string} */ format, /** @type {string} */ path) => {
  const response = await fetch(path, { headers: { accept: 'application/json' } });
  if (!response.ok) throw new Error(`The answer has the status ${response.status}.`);
  const value = await response.json();
  if (format === 'json') return JSON.stringify(value, null, 2);
  // The module is loaded only for this, so that it does not delay the first visit of a page.
  const { csvOf } = await import('./csv-rows.mjs');
  return csvOf(Array.isArray(value) ? value : value.items);
};

const contentOf = async (/** @type {string} */ format) => {
  const { call = '', curl = '', link = '' } = /** @type {HTMLElement} */ (document.querySelector('#main')).dataset;
  if (format === 'link') return new URL(link, location.href).href;
  return format === 'curl' ? curl : answerAs(format, call);
};

if (globalThis.customElements) {
  /**
   * A button that copies the text in `data-text`, or else that of the element before it. After that, it shows a
   * confirmation for a moment.
   */
  class CopyButton extends HTMLElement {
    connectedCallback() {
      this.hidden = false;
      this.addEventListener('click', async () => {
        await copy(Promise.resolve(this.dataset.text ?? this.previousElementSibling?.textContent ?? ''));
        this.dataset.copied = '';
        setTimeout(() => delete this.dataset.copied, CONFIRMED_MS);
      });
    }
  }

  /** A menu whose buttons copy the page in different formats. */
  class CopyMenu extends HTMLElement {
    connectedCallback() {
      this.hidden = false;
      this.addEventListener('click', async ({ target }) => {
        const format = target instanceof Element ? target.closest('[data-copy]')?.getAttribute('data-copy') : null;
        if (!format) return;
        const status = this.querySelector('[role="status"]');
        /** @type {(text: string) => void} */
        const say = (text) => status?.replaceChildren(text);
        await copy(contentOf(format)).then(
          () => say('Copied'),
          () => say('Nothing was copied. Try again.'),
        );
        this.dataset.copied = '';
        setTimeout(() => delete this.dataset.copied, CONFIRMED_MS);
      });
    }
  }

  customElements.define('copy-button', CopyButton);
  customElements.define('copy-menu', CopyMenu);
}
