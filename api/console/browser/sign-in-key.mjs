const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const KEY = /^(?:ann_[0-9A-Za-z]{8}|inv_c[0-9a-z]{24}_c[0-9a-z]{24})_[0-9A-Za-z]{38}$/;
const LENGTH = 6;

const crc32 = (/** @type {string} */ text) => {
  let crc = -1;
  for (const character of text) {
    crc ^= character.charCodeAt(0);
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
};

/** Whether a text is an API key or an invitation without a typing error: it has the form of one, and its checksum is right. */
export const isKey = (/** @type {string} */ text) => {
  const value = [...text.slice(-LENGTH)].reduce((sum, digit) => sum * 62 + BASE62.indexOf(digit), 0);
  return KEY.test(text) && value === crc32(text.slice(0, -LENGTH));
};

/** The browser does not send the form of the sign-in page while its key has a typing error. */
const field = /** @type {HTMLInputElement | null} */ (globalThis.document?.querySelector('#key'));
const check = () => {
  const text = field?.value.trim() ?? '';
  field?.setCustomValidity(text === '' || isKey(text) ? '' : 'A character of this key is wrong or missing. Copy the whole key.');
};
field?.addEventListener('input', check);
check();
