/**
 * Sends the token of an invitation from the fragment of the URL, which browsers do not send, in the body of the form. It
 * disappears from the URL at once.
 */
const token = location.hash.slice(1);
const form = /** @type {HTMLFormElement | null} */ (document.querySelector('#invitation-form'));
const field = /** @type {HTMLInputElement | null} */ (document.querySelector('#token'));
if (token !== '' && form && field) {
  history.replaceState(null, '', location.pathname);
  field.value = token;
  form.submit();
}
