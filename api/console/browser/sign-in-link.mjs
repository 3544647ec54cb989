/** Moves the code of a sign-in link from the URL to the form. It disappears from the URL at once. */
const code = location.hash.slice(1);
if (code !== '') {
  history.replaceState(null, '', location.pathname);
  const field = /** @type {HTMLInputElement | null} */ (document.querySelector('#code'));
  const box = /** @type {HTMLElement | null} */ (document.querySelector('#code-field'));
  if (field && box) {
    field.value = code;
    box.hidden = true;
  }
}
