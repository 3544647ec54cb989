import type { MimePart } from './mime-tree.ts';

/** Names for files whose sender has given them none, by type. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['text/calendar', 'invite.ics'],
  ['application/ics', 'invite.ics'],
  ['message/rfc822', 'message.eml'],
  ['message/global', 'message.eml'],
  ['message/delivery-status', 'delivery-status.txt'],
  ['message/global-delivery-status', 'delivery-status.txt'],
  ['message/disposition-notification', 'disposition-notification.txt'],
  ['message/feedback-report', 'feedback-report.txt'],
  ['text/rfc822-headers', 'headers.txt'],
  ['application/pgp-signature', 'signature.asc'],
  ['application/pgp-encrypted', 'version.txt'],
  ['application/pgp-keys', 'key.asc'],
  ['application/pkcs7-signature', 'smime.p7s'],
  ['application/x-pkcs7-signature', 'smime.p7s'],
  ['application/pkcs7-mime', 'smime.p7m'],
  ['application/x-pkcs7-mime', 'smime.p7m'],
  ['application/ms-tnef', 'winmail.dat'],
  ['application/applefile', 'applefile'],
  ['application/pdf', 'file.pdf'],
  ['application/json', 'file.json'],
  ['application/xml', 'file.xml'],
  ['application/zip', 'file.zip'],
  ['text/plain', 'text.txt'],
  ['text/html', 'text.html'],
  ['text/x-amp-html', 'amp.html'],
  ['text/csv', 'file.csv'],
  ['text/vcard', 'contact.vcf'],
  ['text/x-vcard', 'contact.vcf'],
  ['text/markdown', 'text.md'],
  ['text/rtf', 'text.rtf'],
  ['image/jpeg', 'image.jpg'],
  ['image/svg+xml', 'image.svg'],
]);

export const nameForType = (type: string): string => {
  const [, subtype] = /^image\/([a-z0-9]{1,8})$/.exec(type) ?? [];
  return NAMES.get(type) ?? (subtype === undefined ? 'file' : `image.${subtype}`);
};

const CALENDAR = /^(?:text\/calendar|application\/ics)$/;

/** A calendar gets the ending by which calendar programs know it. */
export const storedName = (name: string, type: string): string => (CALENDAR.test(type) && !/\.ics$/i.test(name) ? `${name}.ics` : name);

const TOKEN = /^[\w!#$&^.:+-]{1,40}$/;

/** Keeps only those parameters that say something about the file: the method of a calendar, and the charset of a text. */
export const declaredType = ({ type: { value, parameters } }: MimePart): string => {
  const isCalendar = CALENDAR.test(value);
  const name = isCalendar ? 'method' : 'charset';
  const found = isCalendar || value.startsWith('text/') ? parameters.get(name)?.trim() : undefined;
  if (found === undefined || !TOKEN.test(found)) return value;
  return `${value}; ${name}=${isCalendar ? found.toUpperCase() : found.toLowerCase()}`;
};
