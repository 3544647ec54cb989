// Lets people drag a row of a list in a form to another place. The form then asks for the list in the new order.

/** @type {HTMLElement | null} */
let dragged = null;
let from = -1;

const rowsIn = (/** @type {Element | null | undefined} */ list) =>
  /** @type {HTMLElement[]} */ ([...(list?.children ?? [])].filter((child) => child.matches('.form-row')));

const rowAt = (/** @type {EventTarget | null} */ target) =>
  /** @type {HTMLElement | null} */ (target instanceof Element ? target.closest('[data-rows] > .form-row') : null);

for (const row of document.querySelectorAll('[data-rows] > .form-row > details > summary')) row.setAttribute('draggable', 'true');

document.addEventListener('dragstart', (event) => {
  const row = rowAt(event.target);
  if (!row || !(event.target instanceof Element) || !event.target.matches('summary') || !event.dataTransfer) return;
  dragged = row;
  from = rowsIn(row.parentElement).indexOf(row);
  event.dataTransfer.effectAllowed = 'move';
  event.dataTransfer.setData('text/plain', row.dataset.pointer ?? '');
});

document.addEventListener('dragover', (event) => {
  const row = rowAt(event.target);
  if (!dragged || !row || row.parentElement !== dragged.parentElement) return;
  event.preventDefault();
  if (row === dragged) return;
  const { top, height } = row.getBoundingClientRect();
  if (event.clientY < top + height / 2) row.before(dragged);
  else row.after(dragged);
});

document.addEventListener('drop', (event) => {
  const list = /** @type {HTMLElement | null} */ (dragged?.parentElement);
  const form = dragged?.closest('form');
  if (!dragged || !list || !form) return;
  event.preventDefault();
  const to = rowsIn(list).indexOf(dragged);
  if (to === from) return;
  const field = document.createElement('input');
  field.type = 'hidden';
  field.name = '_move';
  field.value = `${list.dataset.rows ?? ''}/${from}/${to}`;
  form.append(field);
  dragged = null;
  form.noValidate = true;
  form.requestSubmit();
});

document.addEventListener('dragend', () => {
  const list = dragged?.parentElement;
  // Nothing was dropped, so the row goes back.
  if (dragged && list) {
    const others = rowsIn(list).filter((row) => row !== dragged);
    const next = others[from];
    if (next) next.before(dragged);
    else list.append(dragged);
  }
  dragged = null;
});
