// Lets people drag a row of a list in a form to another place. The form then asks for the list in the new order.

import { dragRows } from './drag-rows.mjs';

const ROW = '[data-rows] > .form-row';
const HANDLE = `${ROW} > details > summary`;

for (const handle of document.querySelectorAll(HANDLE)) handle.setAttribute('draggable', 'true');

dragRows({
  item: ROW,
  handle: HANDLE,
  onDrop: (list, from, to) => {
    const form = list.closest('form');
    if (!form) return false;
    const field = document.createElement('input');
    field.type = 'hidden';
    field.name = '_move';
    field.value = `${list.dataset.rows ?? ''}/${from}/${to}`;
    form.append(field);
    form.noValidate = true;
    form.requestSubmit();
    return true;
  },
});
