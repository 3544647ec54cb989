import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { contentOf } from '../../commands/mail/mail-content.ts';
import { MAX_TEXT } from '../../domain/mail/content.ts';

const bytes = new TextEncoder().encode('x');
const mailWith = (count: number, text: string) => ({
  ...{
    from: 'ada@example.com',
    from_name: '',
    automatic: null,
    to: [],
    cc: [],
    subject: 'S',
    text,
    html: null,
    header_id: undefined,
    references: undefined,
  },
  files: Array.from({ length: count }, (_, index) => ({ filename: `${index}.txt`, bytes })),
});

test('a message with 100 files keeps them all, and its text is unchanged', () => {
  const { content, files } = contentOf(mailWith(100, 'the text'));
  assert.equal([content.text, files.length], ['the text', 100]);
});

test('of a message with more than 100 files, the first 100 are kept, and its text says how many were left out', () => {
  const { content, files } = contentOf(mailWith(103, 'the text'));
  assert.is(content.text, 'the text\n\n[3 attachments were left out: a message can have at most 100 files]');
  assert.equal([files.length, files.at(-1)!.filename], [100, '99.txt']);
  assert.match(contentOf(mailWith(101, '')).content.text, /^\n\n\[1 attachment was left out/);
});

test('a long text is stored as a file, counts as one of the 100 files, and is cut so that the note fits', () => {
  const { content, files } = contentOf(mailWith(100, 'é'.repeat(MAX_TEXT)));
  assert.equal([files.length, files[0]!.filename], [100, 'message.txt']);
  assert.match(content.text, /\[1 attachment was left out: a message can have at most 100 files\]$/);
  assert.ok(Buffer.byteLength(content.text) <= MAX_TEXT);
});

test.run();
