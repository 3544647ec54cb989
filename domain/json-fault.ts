import { withoutByteOrderMark } from './byte-order-mark.ts';
import { counted } from './counted.ts';
import { jsonFaultAt } from './json-scanner.ts';

/** What programs write although JSON does not have it. Other parts of a body are not repeated: it may be secret. */
const KNOWN: readonly (readonly [RegExp, string])[] = [
  [/^-?(?:NaN|Infinity)\b/, 'a number that JSON does not have (NaN or Infinity)'],
  [/^(?:None|True|False|undefined|nil|NULL|TRUE|FALSE)\b/, 'a word of a programming language instead of null, true or false'],
  [/^'/, 'a single quote instead of a double quote'],
  [/^\/[/*]/, 'a comment'],
  [/^[\]}]/, 'a closing bracket that does not fit there'],
  [/^\0/, 'a byte 0'],
  [/^\ufeff/, 'a second byte order mark'],
  [/^</, 'the start of XML or HTML'],
];
const MAX_KNOWN = 16;

/** A text for people. A byte order mark at the start is allowed. */
export const jsonFault = (bytes: Uint8Array): string => {
  const text = withoutByteOrderMark(bytes);
  if (text.length === 0) return 'it is empty';
  const offset = jsonFaultAt(text);
  const at = offset === null ? bytes.length : offset + bytes.length - text.length;
  if (at >= bytes.length) return `it ends too early, after ${counted(bytes.length, 'byte')}`;
  const found = Buffer.from(bytes.subarray(at, at + MAX_KNOWN)).toString();
  const known = KNOWN.find(([form]) => form.test(found))?.[1] ?? 'something that does not belong there';
  return `at byte ${at + 1}, it has ${known}`;
};
