import { Idiomorph } from './idiomorph.mjs';
import { KEEP } from './morph-page.mjs';

/** The minimum time between two requests while the slider is moved. */
const MIN_DELAY_MS = 100;

const parsed = async (/** @type {Response} */ response) => new DOMParser().parseFromString(await response.text(), 'text/html');

/** Whether a node belongs to the live updates. These only exist on pages of the present, and are hidden on others. */
const isLive = (/** @type {Node} */ node) => node instanceof Element && node.matches('#live, .live-notices');

/** Shows the fetched page in place of the current one. What the reader has opened or typed stays, and the focus too. */
const show = (/** @type {Document} */ next) => {
  const frame = next.querySelector('.frame');
  const current = document.querySelector('.frame');
  if (!frame || !current) return;
  document.title = next.title;
  Idiomorph.morph(current, frame, {
    morphStyle: 'outerHTML',
    ignoreActiveValue: true,
    callbacks: {
      ...KEEP,
      beforeNodeMorphed: (/** @type {Node} */ old, /** @type {Node} */ node) => !isLive(old) && KEEP.beforeNodeMorphed(old, node),
      beforeNodeRemoved: (/** @type {Node} */ node) => !isLive(node),
    },
  });
};

/** A slider over the times of a page. While the reader moves it, it says the time, and the page shows its state then. */
class TimeSlider extends HTMLElement {
  connectedCallback() {
    const place = this.closest('details');
    let sentAt = 0;
    let timer = 0;
    let running = new AbortController();
    const range = () => /** @type {HTMLInputElement | null} */ (this.querySelector('input'));
    /** @returns {[string, string][]} */
    const stops = () => JSON.parse(this.dataset.ticks ?? '[]');

    const say = () => {
      const text = stops()[Number(range()?.value)]?.[1] ?? '';
      range()?.setAttribute('aria-valuetext', text);
      if (range()) this.title = text;
    };

    const go = async () => {
      sentAt = Date.now();
      running.abort();
      running = new AbortController();
      const { signal } = running;
      const index = Number(range()?.value);
      const url = new URL(this.dataset.url ?? '', location.href);
      // As of the newest event, the page shows the current state. So `as_of` is omitted.
      const isPast = index < stops().length - 1;
      if (isPast) url.searchParams.set('as_of', stops()[index]?.[0] ?? '');
      // A page that was opened in the past has no live updates. So it is loaded again when it reaches the present.
      if (!isPast && !document.querySelector('#live')) return location.assign(url);
      try {
        const response = await fetch(url, { signal, redirect: 'manual', cache: 'no-store' });
        if (response.type === 'opaqueredirect') return location.assign(url);
        const next = await parsed(response);
        if (signal.aborted) return;
        history.replaceState(null, '', url);
        show(next);
      } catch {
        if (!signal.aborted) location.assign(url);
      }
    };

    const load = async () => {
      if (!place?.open || range()) return;
      const found = (await parsed(await fetch(this.dataset.url ?? '', { headers: { 'x-console-time': '1' } }))).querySelector(
        'time-slider',
      );
      if (range() || !(found instanceof HTMLElement)) return;
      this.dataset.ticks = found.dataset.ticks ?? '[]';
      this.replaceChildren(...found.childNodes);
      say();
    };

    this.addEventListener('input', () => {
      say();
      clearTimeout(timer);
      timer = setTimeout(go, Math.max(0, sentAt + MIN_DELAY_MS - Date.now()));
    });
    place?.addEventListener('toggle', load);
    void load();
    say();
  }
}

customElements.define('time-slider', TimeSlider);
