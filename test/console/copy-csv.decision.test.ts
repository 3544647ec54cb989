import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { csvOf, withoutFormulas } from '../../api/console/browser/csv-rows.mjs';

test('rows become CSV: the columns are the fields of all rows, and every cell is in quotes', () => {
  assert.is(
    csvOf([
      { a: 1, b: 'x,"y"' },
      { a: null, c: { d: [1] } },
    ]),
    '"a","b","c"\r\n"1","x,""y""",""\r\n"","","{""d"":[1]}"\r\n',
  );
  assert.is(csvOf([]), '\r\n');
});

/** [where such a cell is described, the text, the text in the cell] */
const CELLS: readonly (readonly [source: string, text: string, cell: string])[] = [
  ['OWASP CSV injection', '=1+1', "'=1+1"],
  ['OWASP CSV injection', '+1', "'+1"],
  ['OWASP CSV injection', '-1+cmd|x', "'-1+cmd|x"],
  ['OWASP CSV injection', '@SUM(1)', "'@SUM(1)"],
  ['OWASP, tab', '\t1', "'\t1"],
  ['OWASP, carriage return', '\r=1', "'\r'=1"],
  ['OWASP, line feed', 'a\n=1', "a\n'=1"],
  ['OWASP, full width', '＝1', "'＝1"],
  ['OWASP, full width', 'a;－1', "a;'－1"],
  ['OWASP, separators', 'probe;=HYPERLINK("https://evil.example";"open")', 'probe;\'=HYPERLINK("https://evil.example";"open")'],
  ['OWASP, separators', 'a,=1', "a,'=1"],
  ['OWASP, separators', 'a\t=1', "a\t'=1"],
  ['OWASP, separators', 'a|=1', "a|'=1"],
  ['OWASP, quotes', '"=1', '\'"=1'],
  ['OWASP, quotes', 'a;"=1', 'a;\'"=1'],
  ['a program that trims', '  =1', "'  =1"],
  ['a program that trims', 'a; \u00a0 @x', "a;' \u00a0 @x"],
  ['blanks that separate', 'a;\t=1', "a;'\t'=1"],
  ['an apostrophe of its own', "'=1", "''=1"],
  ['an apostrophe of its own', "a;'=1", "a;''=1"],
  ['an apostrophe of its own', "''\t", "'''\t"],
  ['no formula', "'tis; 'twas", "'tis; 'twas"],
  ['no formula', 'a=1; b=2, c-d', 'a=1; b=2, c-d'],
  ['no formula', 'Mozilla/5.0 (X11; Linux x86_64)', 'Mozilla/5.0 (X11; Linux x86_64)'],
  ['JSON', '{"a":"x;=1","b":-5}', '{"a":"x;\'=1","b":-5}'],
];

test('a text gets an apostrophe wherever a cell could begin as a formula: at its start and after any separator', () => {
  for (const [source, text, cell] of CELLS) {
    assert.is(withoutFormulas(text), cell, source);
    assert.is(csvOf([{ a: text }]), `"a"\r\n"${cell.replaceAll('"', '""')}"\r\n`, source);
  }
});

test('the name of a field is a cell, too, and numbers stay numbers', () =>
  assert.is(csvOf([{ '=a;=b': -5, b: 1e21, c: true, d: '-5' }]), '"\'=a;\'=b","b","c","d"\r\n"-5","1e+21","true","\'-5"\r\n'));

/** Takes away the apostrophes that were written, as the documentation says. */
const original = (cell: string): string => {
  const text = /^'+[\t\r\n]/.test(cell) && !/^['"\s]*[=+\-@＝＋－＠]/.test(cell) ? cell.slice(1) : cell;
  return text.replace(/(^|[,;|\t\r\n])'(?=['"\s]*[=+\-@＝＋－＠])/g, '$1');
};

/** The cells that a program with this separator reads, if it knows no quotes, and if it knows those around a whole cell. */
const cellsOf = (csv: string, separator: string): string[] => {
  const mark = `\\${separator}`;
  const quoted = csv.match(new RegExp(`(?<=^|[${mark}\\r\\n])(?:"(?:[^"]|"")*"?)?[^${mark}\\r\\n]*`, 'g')) ?? [];
  return [...csv.split(/\r|\n/).flatMap((line) => line.split(separator)), ...quoted];
};

test('whatever the text, no program reads a formula in the CSV, and the text can be read again', () => {
  const pieces = [...',;|\t\r\n\'" =+-@＝－ab'];
  let seed = 1;
  const next = (): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed;
  };
  for (let count = 0; count < 5_000; count++) {
    const text = Array.from({ length: (next() % 7) + 1 }, () => pieces[next() % pieces.length]).join('');
    const csv = csvOf([{ a: 'x', b: text, c: text }]);
    for (const separator of [',', ';', '\t', '|'])
      for (const cell of cellsOf(csv, separator)) assert.not.match(cell, /^["\s]*[=+\-@＝＋－＠]/, JSON.stringify([text, separator, csv]));
    assert.is(original(withoutFormulas(text)), text, JSON.stringify([text, withoutFormulas(text)]));
  }
});

test('a long text is escaped in a time that is proportional to its length', () => {
  assert.is(withoutFormulas('\n'.repeat(1_000_000)).length, 1_000_001);
  assert.is(withoutFormulas(`${';'.repeat(1_000_000)}=`).length, 1_000_002);
});

test.run();
