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

const createPalette = () => {
  const input = Object.assign(document.createElement('input'), {
    ...{ role: 'combobox', type: 'text', autocomplete: 'off', spellcheck: false },
    ...{ ariaLabel: 'Find', ariaExpanded: 'true', placeholder: 'Name or id' },
  });
  const status = Object.assign(document.createElement('p'), { role: 'status', className: 'quiet' });
  const dialog = Object.assign(document.createElement('dialog'), { className: 'palette', ariaLabel: 'Find' });
  dialog.append(input, status);
  // The dialog opens at once, so that no typed character is lost while the module of the list is fetched.
  const loading = import('./combobox.mjs').then(({ createListbox }) => {
    const made = createListbox(input, 'palette-list', (/** @type {Hit} */ hit) => {
      remember(hit);
      location.href = hit.href;
    });
    status.before(made.list);
    press = made.press;
    return made;
  });
  let press = (/** @type {string} */ _) => false;
  let timer = 0;
  let running = new AbortController();

  const showHits = async (/** @type {Hit[]} */ hits, /** @type {string} */ text) => {
    (await loading).show(hits);
    status.textContent = hits.length > 0 ? '' : text;
  };

  const update = () => {
    clearTimeout(timer);
    running.abort();
    const text = input.value.trim();
    if (text === '') {
      showHits(recentHits(), 'Type a name or an id.');
      return;
    }
    running = new AbortController();
    const { signal } = running;
    timer = setTimeout(async () => {
      try {
        const found = await search(text, signal);
        if (!signal.aborted) showHits(recentFirst(found), `Nothing that you may see has the name or id “${text}”.`);
      } catch {
        if (!signal.aborted) showHits([], 'The search failed. Try again.');
      }
    }, DELAY_MS);
  };

  input.addEventListener('input', update);
  input.addEventListener('keydown', (event) => {
    if (press(event.key)) event.preventDefault();
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
