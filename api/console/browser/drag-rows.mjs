// Lets people drag an item of a list to another place in the list.

/**
 * @typedef {object} Dragging
 * @property {string} item a selector for the items that can be dragged
 * @property {string} [handle] a selector for the part of an item by which it is dragged; the whole item if absent
 * @property {(list: HTMLElement, from: number, to: number) => boolean} onDrop is called with the old and the new index of
 *   the item; returns whether the new order is saved. Otherwise, the item goes back
 */

/** @param {Dragging} dragging */
export const dragRows = ({ item, handle = item, onDrop }) => {
  /** @type {HTMLElement | null} */
  let dragged = null;
  let from = -1;

  const itemAt = (/** @type {EventTarget | null} */ target) =>
    /** @type {HTMLElement | null} */ (target instanceof Element ? target.closest(item) : null);
  const itemsIn = (/** @type {Element} */ list) => [...list.children].filter((child) => child.matches(item));

  document.addEventListener('dragstart', (event) => {
    const isHandle = event.target instanceof Element && event.target.matches(handle);
    dragged = isHandle ? itemAt(event.target) : null;
    if (!dragged?.parentElement || !event.dataTransfer) return;
    from = itemsIn(dragged.parentElement).indexOf(dragged);
    event.dataTransfer.effectAllowed = 'move';
    // Without data, some browsers do not start to drag.
    event.dataTransfer.setData('text/plain', String(from));
  });

  document.addEventListener('dragover', (event) => {
    const over = itemAt(event.target);
    if (!dragged || !over || over.parentElement !== dragged.parentElement) return;
    event.preventDefault();
    if (over === dragged) return;
    const { top, height } = over.getBoundingClientRect();
    if (event.clientY < top + height / 2) over.before(dragged);
    else over.after(dragged);
  });

  document.addEventListener('drop', (event) => {
    const list = dragged?.parentElement;
    if (!dragged || !list || itemAt(event.target)?.parentElement !== list) return;
    event.preventDefault();
    const to = itemsIn(list).indexOf(dragged);
    if (to !== from && onDrop(list, from, to)) dragged = null;
  });

  document.addEventListener('dragend', () => {
    const list = dragged?.parentElement;
    if (dragged && list) {
      const next = itemsIn(list).filter((other) => other !== dragged)[from];
      if (next) next.before(dragged);
      else list.append(dragged);
    }
    dragged = null;
  });
};
