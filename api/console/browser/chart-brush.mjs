/**
 * Lets the reader select a time range in a chart by dragging. Its ends become the parameters `from` and `to` in the
 * page's URL. `data-from` and `data-to` are the times at the two ends of the chart.
 */
class ChartBrush extends HTMLElement {
  connectedCallback() {
    this.addEventListener('pointerdown', (event) => this.#start(event));
  }

  /** @param {PointerEvent} event */
  #start(event) {
    const plot = /** @type {Element | null} */ (this.querySelector('.chart-plot'));
    if (!plot || event.button !== 0 || !event.composedPath().includes(plot)) return;
    const area = plot.getBoundingClientRect();
    /** @param {PointerEvent} at */
    const partOf = (at) => Math.min(1, Math.max(0, (at.clientX - area.left) / area.width));
    const first = partOf(event);
    const shade = document.createElement('div');
    shade.className = 'brush';
    plot.append(shade);
    /** @param {PointerEvent} at */
    const move = (at) => {
      const [low, high] = [Math.min(first, partOf(at)), Math.max(first, partOf(at))];
      shade.style.left = `${low * 100}%`;
      shade.style.width = `${(high - low) * 100}%`;
    };
    /** @param {PointerEvent} at */
    const end = (at) => {
      removeEventListener('pointermove', move);
      shade.remove();
      if (Math.abs(partOf(at) - first) * area.width >= 5) this.#choose(first, partOf(at));
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', end, { once: true });
    // Without this, the browser would drag the link of the bar under the pointer.
    event.preventDefault();
  }

  /**
   * @param {number} one
   * @param {number} other
   */
  #choose(one, other) {
    const [from, to] = [Date.parse(this.dataset.from ?? ''), Date.parse(this.dataset.to ?? '')];
    /** @param {number} part */
    const timeAt = (part) => new Date(Math.round(from + (to - from) * part)).toISOString();
    const url = new URL(location.href);
    for (const name of ['cursor', 'after']) url.searchParams.delete(name);
    url.searchParams.set('from', timeAt(Math.min(one, other)));
    url.searchParams.set('to', timeAt(Math.max(one, other)));
    // The drag ends with a click, which must not open the link of a bar.
    addEventListener('click', (click) => click.preventDefault(), { once: true, capture: true });
    location.assign(url);
  }
}

customElements.define('chart-brush', ChartBrush);
