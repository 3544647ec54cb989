/**
 * A slider over the events of a page. While the reader moves it, it shows the name of the event. When it is released,
 * it opens the page as of this event.
 */
class TimeSlider extends HTMLElement {
  connectedCallback() {
    const range = /** @type {HTMLInputElement} */ (this.querySelector('input'));
    /** @type {[string, string][]} */
    const ticks = JSON.parse(this.dataset.ticks ?? '[]');
    const say = () => {
      const name = ticks[Number(range.value)]?.[1] ?? '';
      range.title = name;
      range.setAttribute('aria-valuetext', name);
    };
    range.addEventListener('input', say);
    range.addEventListener('change', () => {
      const index = Number(range.value);
      const url = new URL(this.dataset.url ?? '', location.href);
      // As of the newest event, the page shows the current state. So `as_of` is omitted.
      if (index < ticks.length - 1) url.searchParams.set('as_of', ticks[index]?.[0] ?? '');
      location.assign(url);
    });
    say();
  }
}

customElements.define('time-slider', TimeSlider);
