const CONFIRMED_MS = 1_500;

/**
 * Matches a text that a spreadsheet would evaluate as a formula. Such a cell gets an apostrophe as prefix, as in the
 * export of the audit log.
 */
const FORMULA = /^(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/;

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

const csvCell = (/** @type {unknown} */ value) => {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const escaped = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(escaped) ? `"${escaped.replaceAll('"', '""')}"` : escaped;
};

/** Formats rows as CSV (RFC 4180). The columns are the fields of all rows. */
export const csvOf = (/** @type {Record<string, unknown>[]} */ rows) => {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return [names, ...rows.map((row) => names.map((name) => row[name]))].map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('');
};

/** Asks for the main answer of the page again, and returns it as JSON or CSV. */
const answerAs = async (/** @type {string} */ format, /** @type {string} */ path) => {
  const response = await fetch(path, { headers: { accept: 'application/json' } });
  if (!response.ok) throw new Error(`The answer has the status ${response.status}.`);
  const value = await response.json();
  return format === 'json' ? JSON.stringify(value, null, 2) : csvOf(Array.isArray(value) ? value : value.items);
};

const contentOf = async (/** @type {string} */ format) => {
  const { call = '', curl = '', link = '' } = /** @type {HTMLElement} */ (document.querySelector('#main')).dataset;
  if (format === 'link') return new URL(link, location.href).href;
  return format === 'curl' ? curl : answerAs(format, call);
};

if (globalThis.customElements) {
  /** A button that copies the text in `data-text`. After that, it shows a confirmation for a moment. */
  class CopyButton extends HTMLElement {
    connectedCallback() {
      this.hidden = false;
      this.addEventListener('click', async () => {
        await copy(Promise.resolve(this.dataset.text ?? ''));
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
