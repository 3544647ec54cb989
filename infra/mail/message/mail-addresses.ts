import { type Address, addressParser } from 'postal-mime';
import { decodeHeader } from './header-text.ts';

/** The name may be empty. */
export type NamedAddress = { readonly address: string; readonly name: string };

const escaped = (text: string): string => text.replace(/[\\"]/g, '\\$&').replace(/[\r\n]+/g, ' ');

const flat = (list: readonly Address[]): NamedAddress[] =>
  list.flatMap(({ address, name, group }) => (group ? flat(group) : address ? [{ address, name: name.replace(/^"(.*)"$/s, '$1') }] : []));

/** Decoded words are put in quotes as names: an address in them counts only if the header has no other. */
export const addressesIn = (value: string, hints: readonly string[]): NamedAddress[] => {
  const written = decodeHeader(value, hints, (text, isQuoted) => (isQuoted ? escaped(text) : `"${escaped(text)}"`));
  const found = flat(addressParser(written));
  return found.length > 0 || !value.includes('=?') ? found : flat(addressParser(decodeHeader(value, hints)));
};
