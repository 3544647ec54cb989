import { test } from 'uvu';
import { is, ok } from 'uvu/assert';
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

// Each of these would be an active name if an escape needed no `#`, or if the character beside the digits were one.
for (const text of [
  '/x4aavaScript',
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

const PLACES = [0, 1, 65_400, 65_470, 65_472, 65_473, 65_500, 65_530, 65_536, 200_000];

test('the name of an active PDF object is found at every place, escaped or not, also where two windows meet', () => {
  for (const name of ['/JavaScript', '/J#61vaScrip#74', '/AA'])
    for (const before of PLACES)
      for (const after of ['', ' ', ' '.repeat(100_000)]) ok(found(' '.repeat(before) + name + after), `${name} after ${before} bytes`);
});

test('a PDF name that only begins like that of active content is not reported, even where two searched parts of the file meet', () => {
  for (const name of ['/JavaScripts', '/AAb', '/JSx', ' JavaScript2'])
    for (const before of [0, 65_460, 65_524, 65_526, 65_533])
      is(found(' '.repeat(before) + name + ' '.repeat(100)), null, `${name} after ${before} bytes`);
});

test.run();
