/** Offers the time zone of the browser with one button. Without JavaScript, the zone is chosen from the list. */
const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
const select = /** @type {HTMLSelectElement | null} */ (document.querySelector('select[name="zone"]'));
const button = /** @type {HTMLButtonElement | null} */ (document.querySelector('[data-own-zone]'));

if (select && button && timeZone && timeZone !== select.value) {
  button.textContent = `Use that of this browser: ${timeZone}`;
  button.hidden = false;
  button.addEventListener('click', () => {
    if (![...select.options].some(({ value }) => value === timeZone)) select.add(new Option(timeZone, timeZone));
    select.value = timeZone;
    select.form?.requestSubmit();
  });
}
