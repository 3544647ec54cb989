import { test } from 'uvu';
import { is } from 'uvu/assert';
import { activePdfName } from '../../domain/files/active-pdf.ts';

const found = (text: string): string | null => activePdfName(Buffer.from(text, 'latin1'));

const NAMES = ['JavaScript', 'JS', 'Launch', 'EmbeddedFile', 'RichMedia', 'XFA', 'OpenAction', 'AA', 'SubmitForm', 'ImportData'];

const hexOf = (character: string): string => character.charCodeAt(0).toString(16);
const escapeAll = (name: string, hex = hexOf): string => [...name].map((character) => `#${hex(character)}`).join('');

for (const name of NAMES)
  test(`the name ${name} is found when all its characters are escaped, with lower or upper case digits`, () => {
    is(found(`<< /${escapeAll(name)} 1 0 R`), `/${name}`);
    is(found(`<< /${escapeAll(name, (character) => hexOf(character).toUpperCase())} 1 0 R`), `/${name}`);
  });

// Each of these would stand for an active name if the character beside the digits were one.
for (const text of [
  '/#5zpenAction',
  '/#4:avaScript',
  '/JavaScr#6@pt',
  '/JavaScr#6`pt',
  '/JavaScri#6gt',
  '/JavaScri#6Gt',
  '/JavaScrip#7',
  '/JavaScrip#',
])
  test(`${text} contains no escaped name, because an escape has two hex digits`, () => is(found(text), null));

test.run();
