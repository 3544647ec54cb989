import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { csvOf } from '../../api/console/browser/copy-button.mjs';

test('rows become CSV: the columns are the fields of all rows, and cells are quoted if necessary', () => {
  assert.is(
    csvOf([
      { a: 1, b: 'x,"y"' },
      { a: null, c: { d: [1] } },
    ]),
    'a,b,c\r\n1,"x,""y""",\r\n,,"{""d"":[1]}"\r\n',
  );
  assert.is(csvOf([]), '\r\n');
});

test('a text that a spreadsheet would evaluate as a formula gets an apostrophe as prefix, also after blanks', () => {
  for (const text of ['=1+1', '+1', '-1', '@a', ' =1', '＝1', '\t1']) assert.ok(csvOf([{ a: text }]).includes(`'${text}`), text);
});

test.run();
