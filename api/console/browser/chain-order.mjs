// Lets people drag the models of an agent's chain into another order. The form that moves one model up then saves the
// whole order: with one request, as its button does.

const FORM = 'form[data-form="reorderModelChain"]';

/** @type {HTMLElement | null} */
let dragged = null;
/** @type {string[]} */
let before = [];

const itemAt = (/** @type {EventTarget | null} */ target) =>
  /** @type {HTMLElement | null} */ (target instanceof Element ? target.closest('[data-chain] > li') : null);

const idsIn = (/** @type {Element} */ list) => [...list.children].map((item) => /** @type {HTMLElement} */ (item).dataset.id ?? '');

/** Puts the models back into the order in which they were before the drag. */
const restore = (/** @type {Element} */ list) => {
  const items = new Map([...list.children].map((item) => [/** @type {HTMLElement} */ (item).dataset.id, item]));
  list.append(...before.flatMap((id) => items.get(id) ?? []));
};

document.addEventListener('dragstart', (event) => {
  dragged = itemAt(event.target);
  if (!dragged || !event.dataTransfer) return;
  before = idsIn(/** @type {Element} */ (dragged.parentElement));
  event.dataTransfer.effectAllowed = 'move';
  event.dataTransfer.setData('text/plain', dragged.dataset.id ?? '');
});

document.addEventListener('dragover', (event) => {
  const item = itemAt(event.target);
  if (!dragged || !item || item.parentElement !== dragged.parentElement) return;
  event.preventDefault();
  if (item === dragged) return;
  const { top, height } = item.getBoundingClientRect();
  if (event.clientY < top + height / 2) item.before(dragged);
  else item.after(dragged);
});

document.addEventListener('drop', (event) => {
  const list = dragged?.parentElement;
  if (!dragged || !list || itemAt(event.target)?.parentElement !== list) return;
  event.preventDefault();
  dragged = null;
  const ids = idsIn(list);
  const form = /** @type {HTMLFormElement | null} */ (list.querySelector(FORM));
  const field = /** @type {HTMLInputElement | null} */ (form?.elements.namedItem('/model_ids'));
  if (!form || !field || ids.join() === before.join()) return;
  field.value = ids.join('\n');
  form.requestSubmit();
});

document.addEventListener('dragend', () => {
  if (dragged?.parentElement) restore(dragged.parentElement);
  dragged = null;
});
