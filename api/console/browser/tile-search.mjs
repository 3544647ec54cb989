// Shows only the tiles of a form whose text contains what is typed. Without this module, all tiles are shown.

for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll('[data-tile-search]'))) {
  const group = field.closest('fieldset');
  const tiles = /** @type {HTMLElement[]} */ ([...(group?.querySelectorAll('.tile') ?? [])]);
  const box = /** @type {HTMLElement | null} */ (field.closest('[hidden]'));
  const status = /** @type {HTMLElement | null} */ (group?.querySelector('[data-tile-status]'));
  if (box) box.hidden = false;
  field.addEventListener('input', (event) => {
    // What is searched is no value of the form, so no preview of the form follows.
    event.stopPropagation();
    const text = field.value.trim().toLowerCase();
    const found = tiles.filter((tile) => tile.textContent.toLowerCase().includes(text));
    for (const tile of tiles) tile.hidden = !found.includes(tile) && !tile.querySelector(':checked');
    if (status) status.textContent = found.length === 0 ? `No tile matches “${field.value.trim()}”.` : '';
  });
  field.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    const text = field.value.trim().toLowerCase();
    if (text === '') return;
    const first = tiles.find((tile) => tile.textContent.toLowerCase().includes(text));
    first?.querySelector('input')?.click();
  });
}
