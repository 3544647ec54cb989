/** The time in milliseconds between the last key press and the search. */
const DELAY_MS = 120;
const MAX_RECENT = 5;

const opener = /** @type {HTMLAnchorElement | null} */ (document.querySelector('[data-palette]'));
const address = opener?.getAttribute('href') ?? '';
const recentKey = `annals palette ${address}`;

/** @typedef {{ href: string, label: string, kind: string }} Hit */

/** @returns {Hit[]} the results that were opened last in this tab */
const recentHits = () => {
  try {
    return JSON.parse(sessionStorage.getItem(recentKey) ?? '[]');
  } catch {
    return [];
  }
};

/** Puts the results first that were opened last. */
const recentFirst = (/** @type {Hit[]} */ found) => {
  const recent = recentHits().flatMap(({ href }) => found.find((hit) => hit.href === href) ?? []);
  return [...recent, ...found.filter((hit) => !recent.includes(hit))];
};

const remember = (/** @type {Hit} */ hit) => {
  const others = recentHits().filter(({ href }) => href !== hit.href);
  sessionStorage.setItem(recentKey, JSON.stringify([hit, ...others].slice(0, MAX_RECENT)));
};

/** Searches by requesting the search page, and returns the results on it. */
const search = async (/** @type {string} */ text, /** @type {AbortSignal} */ signal) => {
  const response = await fetch(`${address}?q=${encodeURIComponent(text)}`, { signal });
  const found = new DOMParser().parseFromString(await response.text(), 'text/html');
  return [...found.querySelectorAll('#found a')].map((link) => ({
    href: link.getAttribute('href') ?? '',
    label: link.querySelector('.event')?.textContent ?? '',
    kind: link.querySelector('.quiet')?.textContent ?? '',
  }));
};

const element = (
  /** @type {string} */ name,
  /** @type {Record<string, string>} */ attributes,
  /** @type {(Node | string)[]} */ ...children
) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

const createPalette = () => {
  const input = /** @type {HTMLInputElement} */ (
    element('input', {
      role: 'combobox',
      type: 'text',
      autocomplete: 'off',
      spellcheck: 'false',
      'aria-label': 'Find',
      'aria-expanded': 'true',
      'aria-controls': 'palette-list',
      'aria-autocomplete': 'list',
      placeholder: 'Name or id',
    })
  );
  const list = element('ul', { id: 'palette-list', role: 'listbox', 'aria-label': 'Results' });
  const status = element('p', { role: 'status', class: 'quiet' });
  const dialog = /** @type {HTMLDialogElement} */ (element('dialog', { class: 'palette', 'aria-label': 'Find' }, input, list, status));
  /** @type {Hit[]} */
  let hits = [];
  let active = 0;
  let timer = 0;
  let running = new AbortController();

  const open = (/** @type {Hit | undefined} */ hit) => {
    if (!hit) return;
    remember(hit);
    location.href = hit.href;
  };

  const mark = (/** @type {number} */ index) => {
    active = Math.min(Math.max(index, 0), hits.length - 1);
    for (const [at, option] of [...list.children].entries()) option.setAttribute('aria-selected', String(at === active));
    const option = list.children[active];
    option?.scrollIntoView({ block: 'nearest' });
    if (option) input.setAttribute('aria-activedescendant', option.id);
    else input.removeAttribute('aria-activedescendant');
  };

  const show = (/** @type {Hit[]} */ found, /** @type {string} */ text) => {
    hits = found;
    list.replaceChildren(
      ...hits.map(({ label, kind }, index) => {
        const option = element(
          'li',
          { id: `palette-${index}`, role: 'option' },
          element('span', {}, label),
          element('span', { class: 'quiet' }, kind),
        );
        option.addEventListener('click', () => open(hits[index]));
        return option;
      }),
    );
    status.textContent = hits.length > 0 ? '' : text;
    mark(0);
  };

  const update = () => {
    clearTimeout(timer);
    running.abort();
    const text = input.value.trim();
    if (text === '') return show(recentHits(), 'Type a name or an id.');
    running = new AbortController();
    const { signal } = running;
    timer = setTimeout(async () => {
      try {
        const found = await search(text, signal);
        if (!signal.aborted) show(recentFirst(found), 'Nothing that you may see has this name or id.');
      } catch {
        if (!signal.aborted) show([], 'The search failed. Try again.');
      }
    }, DELAY_MS);
  };

  input.addEventListener('input', update);
  input.addEventListener('keydown', (event) => {
    const moves = /** @type {Record<string, number>} */ ({
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + 10,
      PageUp: active - 10,
    });
    const to = moves[event.key];
    if (to !== undefined) mark(to);
    else if (event.key === 'Enter') open(hits[active]);
    else return;
    event.preventDefault();
  });
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  return () => {
    if (dialog.open) return;
    input.value = '';
    update();
    dialog.showModal();
    input.focus();
  };
};

if (opener) {
  /** @type {(() => void) | null} */
  let show = null;
  const openPalette = (/** @type {Event} */ event) => {
    event.preventDefault();
    show ??= createPalette();
    show();
  };
  opener.addEventListener('click', openPalette);
  document.addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 'k') openPalette(event);
  });
}
