// Lets people drag the models of an agent's chain into another order. The form that moves one model up then saves the
// whole order: with one request, as its button does.

import { dragRows } from './drag-rows.mjs';

const FORM = 'form[data-form="reorderModelChain"]';

dragRows({
  item: '[data-chain] > li',
  onDrop: (list) => {
    const form = /** @type {HTMLFormElement | null} */ (list.querySelector(FORM));
    const field = /** @type {HTMLInputElement | null} */ (form?.elements.namedItem('/model_ids'));
    if (!form || !field) return false;
    field.value = [...list.children].map((item) => /** @type {HTMLElement} */ (item).dataset.id ?? '').join('\n');
    form.requestSubmit();
    return true;
  },
});
