/**
 * A slider over the events of a page. While it moves, it shows the event at its place; when it is released, it opens
 * the page at that event.
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
      // The newest event is the present, which needs no parameter.
      if (index < ticks.length - 1) url.searchParams.set('as_of', ticks[index]?.[0] ?? '');
      location.assign(url);
    });
    say();
  }
}

customElements.define('time-slider', TimeSlider);
