/** Offers the time zone of the browser, unless it is UTC, on the first page of a browser. */
const offer = /** @type {HTMLElement | null} */ (document.querySelector('zone-offer'));
const button = /** @type {HTMLButtonElement | null} */ (document.querySelector('zone-offer [data-own]'));
const { timeZone = 'UTC' } = new Intl.DateTimeFormat().resolvedOptions();

if (offer && button && !document.cookie.includes('annals_zone_offered=')) {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API needs https
  document.cookie = `annals_zone_offered=1; path=/console; max-age=34560000; samesite=lax${location.protocol === 'https:' ? '; secure' : ''}`;
  button.value = timeZone;
  button.textContent = `Show times in ${timeZone}`;
  offer.hidden = /^(Etc\/)?(UTC|GMT)$/.test(timeZone);
}
