import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createFileReader, formatOf } from '../../commands/memory/file-reader.ts';
import { parseDataset } from '../../domain/benchmarks/dataset.ts';
import type { NewEntry } from '../../domain/memory/memory-entry.ts';
import { Refusal } from '../../domain/refusal.ts';

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');
const bigEndian = (text: string): Buffer => utf16(text).swap16();
const jsonLines = (...texts: string[]): string => texts.map((text) => JSON.stringify({ text })).join('\n');
const ITEMS = [{ text: 'a' }, { text: 'b, "c" ]}\\' }];

/** Reads a file in pieces of this many bytes. @returns the texts of its entries, or the message of the refusal */
const read = async (filename: string, content: string | Uint8Array, bytesPerPiece = 65_536): Promise<readonly string[] | string> => {
  const bytes = Buffer.from(content);
  const entries: NewEntry[] = [];
  const onEntries = (found: readonly NewEntry[]): void => void entries.push(...found);
  const unpack = () => Promise.reject(new Error('no archive'));
  const reader = createFileReader(formatOf(filename, null, bytes), { unpack, pointer: '/file', source: filename, onEntries });
  try {
    for (let at = 0; at < bytes.length; at += bytesPerPiece) await reader.add(bytes.subarray(at, at + bytesPerPiece));
    await reader.end();
    return entries.map(({ text }) => text);
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
};

/** [what writes such a file, its name, its content, the texts of its entries] */
const READ: readonly (readonly [source: string, filename: string, content: string | Uint8Array, texts: readonly string[]])[] = [
  ['Notepad, UTF-8 with BOM', 'a.txt', '\ufeffgrün\r\nzwei\r\n', ['grün\nzwei']],
  ['Notepad, UTF-16 LE (once "Unicode")', 'a.txt', utf16('\ufeffgrün\r\nzwei\r\n'), ['grün\nzwei']],
  ['Notepad, UTF-16 BE', 'a.txt', bigEndian('\ufeffgrün 🚀'), ['grün 🚀']],
  ['PowerShell 5.1, > and Out-File', 'a.log', utf16('\ufeffone\r\n'), ['one']],
  ['Win32 programs, UTF-16 without a mark', 'a.txt', utf16('grün: one two three'), ['grün: one two three']],
  ['UTF-16 BE without a mark', 'a.txt', bigEndian('grün: one two three'), ['grün: one two three']],
  ['Excel, Unicode Text', 'a.txt', utf16('\ufeffa\tb\r\n1\t2\r\n'), ['a\tb\n1\t2']],
  ['Excel, CSV UTF-8', 'a.csv', '\ufeffsep=;\r\na;b\r\n1;2\r\n', ['sep=;\na;b\n1;2']],
  ['Mac OS 9', 'a.txt', 'one\rtwo\r', ['one\ntwo']],
  ['JSON Lines of Windows', 'a.jsonl', `\ufeff${jsonLines('a', 'b').replace('\n', '\r\n\r\n')}\r\n`, ['a', 'b']],
  ['JSON Lines in UTF-16', 'a.jsonl', utf16(`\ufeff${jsonLines('a', 'b')}`), ['a', 'b']],
  ['JSON Lines in UTF-16 without a name', 'export', utf16(`\ufeff${jsonLines('a', 'b')}`), ['a', 'b']],
  ['JSON Lines of Mac OS 9', 'a.jsonl', jsonLines('a', 'b').replace('\n', '\r'), ['a', 'b']],
  ['RFC 8259, an array', 'a.json', JSON.stringify(ITEMS), ['a', 'b, "c" ]}\\']],
  ['an array in lines', 'a.json', JSON.stringify(ITEMS, null, 2).replaceAll('\n', '\r\n'), ['a', 'b, "c" ]}\\']],
  ['PowerShell 5.1, ConvertTo-Json > a.json', 'a.json', utf16(`\ufeff${JSON.stringify(ITEMS, null, 4)}\r\n`), ['a', 'b, "c" ]}\\']],
  ['an array of texts', 'a.json', ' [ "a" , "b" ] ', ['a', 'b']],
  ['an array that is called JSON Lines', 'a.jsonl', JSON.stringify(ITEMS), ['a', 'b, "c" ]}\\']],
  ['an array with the structure of others in it', 'a.json', '[{"text":"a","tags":[1,{"x":[]}],"text2":"]"},"b"]', ['a', 'b']],
  ['another array, as a text', 'a.json', '[{"title":"a"}]', ['[{"title":"a"}]']],
  ['a list in Markdown', 'a.md', '["a"] and more', ['["a"] and more']],
];

test('texts are read in every encoding, with every line end and in every form in which common programs write them', async () => {
  for (const [source, filename, content, texts] of READ)
    for (const size of [65_536, 1, 3]) assert.equal(await read(filename, content, size), texts, `${source}, in pieces of ${size} bytes`);
});

const SAVE = / save it as plain text in UTF-8 \(in Notepad and Excel: Save as, with UTF-8 as the encoding or type\)$/;

/** [what was sent, its name, its content, what the refusal says] */
const REFUSED: readonly (readonly [what: string, filename: string, content: string | Uint8Array, message: RegExp])[] = [
  ['Windows-1252', 'a.txt', latin1('Grüße aus Köln'), /^The file is not a text in UTF-8, but perhaps in Windows-1252 \(ANSI\):/],
  ['Windows-1252 of Excel', 'a.csv', latin1('Größe;1\r\n'), /perhaps in Windows-1252/],
  ['UTF-32 LE', 'a.txt', Buffer.from([0xff, 0xfe, 0, 0, 0x41, 0, 0, 0]), /^The file is a text in UTF-32:/],
  ['UTF-32 BE', 'a.txt', Buffer.from([0, 0, 0xfe, 0xff, 0, 0, 0, 0x41]), /is a text in UTF-32:/],
  ['UTF-16 that was cut off', 'a.txt', utf16('\ufeffone').subarray(0, -1), /^The file is not a complete text in UTF-16:/],
  ['a PDF', 'a.pdf', '%PDF-1.7\n1 0 obj', /^The file is a PDF document, and no text:/],
  ['WordPad', 'a.rtf', '{\\rtf1\\ansi a}', /is a document in Rich Text Format, and no text:/],
  ['Word 97', 'a.doc', Buffer.from('d0cf11e0a1b11ae1', 'hex'), /is a document of an old office program/],
  ['a picture', 'a.txt', Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(600, 1)]), /is a PNG picture/],
  ['a property list', 'a.plist', Buffer.from('bplist00\xd1', 'latin1'), /is a property list of macOS/],
  ['gzip', 'a.txt.gz', Buffer.from('1f8b0800', 'hex'), /is a gzip archive/],
  ['a program', 'a', Buffer.from([1, 2, 3, 0xff]), /^The file is not a text in UTF-8, but has bytes that only programs write:/],
];

test('a file that is not text is refused, and the error says what it is and how to save it', async () => {
  for (const [what, filename, content, message] of REFUSED)
    for (const size of [65_536, 1]) {
      const found = String(await read(filename, content, size));
      assert.match(found, message, what);
      assert.match(found, SAVE, what);
    }
});

/** [what is wrong, the name of the file, its content, what the refusal says] */
const MALFORMED: readonly (readonly [what: string, filename: string, content: string, message: RegExp])[] = [
  ['empty', 'a.txt', '', /^The file has no text/],
  ['only a mark', 'a.txt', '\ufeff', /^The file has no text/],
  ['NUL', 'a.txt', 'ab\0c', /^The file has the character U\+0000, which no text has: remove it, or save it/],
  ['a long line', 'a.txt', `a\n${'x'.repeat(1_000_001)}`, /^The file has more than 1000000 characters in line 2: divide it into lines$/],
  ['a line without text', 'a.jsonl', `${jsonLines('a')}\n{"x":1}`, /^The file: line 2 is neither/],
  ['an item without text', 'a.json', '["a",{"x":1}]', /^The file: item 2 is neither a JSON object with the field text/],
  ['a comma at the end', 'a.json', '["a",]', /^The file: item 2 is neither/],
  ['two commas', 'a.json', '["a",,"b"]', /^The file: item 2 is neither/],
  ['an array that is cut off', 'a.json', '["a",{"text":"b"', /^The file ends in item 2, before the \] of its JSON array$/],
  ['an array that is cut off after its first item', 'a.json', '[{"text":"a"}', /^The file ends in item 1, before the \] of its JSON/],
  ['an array that is cut off after its first text', 'a.json', ' [ "a" ', /^The file ends in item 1, before/],
  ['an array that is cut off in its first item', 'a.json', '[{"text": "a', /^The file ends in item 1, before/],
  ['more after an array', 'a.json', '["a"] []', /^The file has more after the \] of its JSON array$/],
  ['a long item', 'a.json', `["a","${'x'.repeat(1_100_000)}"]`, /^The file has more than 1000000 characters in item 2$/],
];

test('a text that breaks a rule is refused with the line or item, and what to do', async () => {
  for (const [what, filename, content, message] of MALFORMED) assert.match(String(await read(filename, content)), message, what);
});

test('a dataset is read in every encoding of Windows; one that is an array or not text is refused with advice', () => {
  const lines = '\ufeff{"id":"a"}\r\n{"id":"b"}\r\n';
  for (const bytes of [Buffer.from(lines), utf16(lines), bigEndian(lines)])
    assert.equal(
      parseDataset(bytes, '/dataset_uri').map(({ id }) => id),
      ['a', 'b'],
    );
  assert.throws(() => parseDataset(Buffer.from('[{"id":"a"}]'), '/dataset_uri'), /JSON array: write each task on its own line/);
  assert.throws(
    () => parseDataset(latin1('{"id":"ü"}'), '/dataset_uri'),
    /^The dataset is not a text in UTF-8, but perhaps in Windows-1252/,
  );
});

test.run();
