import { cleanDisplayText } from '../fields.ts';
import { invalid } from '../refusal.ts';
import { createTextDecoder } from '../text-decoder.ts';
import { createItemCutter } from './json-items.ts';

export type NewEntry = { readonly text: string; readonly source: string };

/** The limit for an entry in a JSON Lines file, in characters. */
export const MAX_ENTRY_LENGTH = 65_536;
export const MAX_IMPORT_ENTRIES = 100_000;
/** The limit for an entry from a plain text, in characters; a longer text is divided. */
export const MAX_PART_LENGTH = 8_000;
/** After this many characters, the next empty line ends an entry from a plain text. */
const FULL_PART_LENGTH = 4_000;
const MAX_LINE_LENGTH = 1_000_000;
export const MAX_SOURCE_LENGTH = 1_024;

/** Reads UTF-8 or UTF-16 as it arrives. `add` returns the completed entries, `end` the remaining ones. Both throw Refusal invalid. */
export type EntryReader = { readonly add: (bytes: Uint8Array) => NewEntry[]; readonly end: () => NewEntry[] };

/** `pointer`: the request field that refers to the text; `name`: for error messages; `source`: that of the entries. */
export type TextOrigin = { readonly pointer: string; readonly name: string; readonly source: string };

/** For display on one line. */
export const shownSource = (source: string): string => cleanDisplayText(source, MAX_SOURCE_LENGTH) ?? 'file';

/** Returns where to cut a line: after the last space that fits or, without one, between two characters. */
const cutAt = (line: string): number => {
  const space = line.lastIndexOf(' ', MAX_PART_LENGTH - 1) + 1;
  if (space > 0) return space;
  return /[\ud800-\udbff]/.test(line[MAX_PART_LENGTH - 1]!) ? MAX_PART_LENGTH - 1 : MAX_PART_LENGTH;
};

/** Joins lines to entries of at most MAX_PART_LENGTH characters, which end at the end of a paragraph if possible. */
const createPartJoiner = (source: string) => {
  let part = '';
  const flush = (): NewEntry[] => {
    const text = part.replace(/^(?:[^\S\n]*\n)+/, '').trimEnd();
    part = '';
    return text === '' ? [] : [{ text, source }];
  };
  const addLine = (line: string): NewEntry[] => {
    if (line.trim() === '' && part.length >= FULL_PART_LENGTH) return flush();
    const full = part.length + line.length + 1 > MAX_PART_LENGTH ? flush() : [];
    let rest = line;
    while (rest.length > MAX_PART_LENGTH - 1) {
      part = rest.slice(0, cutAt(rest));
      rest = rest.slice(part.length);
      full.push(...flush());
    }
    part += `${rest}\n`;
    return full;
  };
  return { addLine, flush };
};

/** An object with a field `text`, or a string; null for any other line. */
const parseLine = (line: string): { readonly text: unknown; readonly source?: unknown } | null => {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'string') return { text: value };
    return typeof value === 'object' && value !== null && 'text' in value ? value : null;
  } catch {
    return null;
  }
};

const isStorable = (text: unknown): text is string => typeof text === 'string' && text.isWellFormed() && !text.includes('\0');

/** An object with a string `text` is taken for JSON Lines, not for a plain text. */
export const looksLikeJsonLine = (line: string): boolean => line.trimStart().startsWith('{') && typeof parseLine(line)?.text === 'string';

/** A JSON array whose first item is a string or has a string `text`. It may be cut off after this item, or in its text. */
export const looksLikeJsonItems = (text: string): boolean => {
  let isEntry: boolean | undefined;
  const onItem = (item: string): void => {
    isEntry ??= typeof parseLine(item)?.text === 'string';
  };
  try {
    createItemCutter(text.length, { onItem, refuse: (fault) => new Error(fault) }).add(text);
  } catch {}
  if (isEntry !== undefined) return isEntry;
  const first = /^\s*\[\s*(?=["{])/.exec(text)?.[0];
  if (first === undefined) return false;
  const item = text.slice(first.length);
  return /^\{\s*"text"\s*:\s*"/.test(item) || typeof parseLine(item)?.text === 'string';
};

/** Reads a line of JSON Lines, or an item of a JSON array; `label` names it, such as `line 2`. @throws Refusal invalid */
const entryOf = (line: string, label: string, { pointer, name, source }: TextOrigin): NewEntry => {
  const refuse = (message: string) => invalid(pointer, `${name}: ${label} ${message}`, 'malformed_line');
  const found = parseLine(line);
  if (!found) throw refuse('is neither a JSON object with the field text nor a JSON string');
  if (!isStorable(found.text)) throw refuse('has a text that is not a string, or contains U+0000 or an unpaired surrogate');
  if (found.text.trim() === '' || found.text.length > MAX_ENTRY_LENGTH)
    throw refuse(`has a text that does not have 1 to ${MAX_ENTRY_LENGTH} characters`);
  if (found.source === undefined || found.source === null) return { text: found.text, source };
  const shown = isStorable(found.source) && found.source.length <= MAX_SOURCE_LENGTH ? found.source : null;
  if (shown === null || cleanDisplayText(shown, MAX_SOURCE_LENGTH) !== shown)
    throw refuse(`has a source that is not a text of 1 to ${MAX_SOURCE_LENGTH} characters on one line`);
  return { text: found.text, source: shown };
};

/** A line feed may still come after the carriage return. */
const isOpen = (text: string): boolean => text.endsWith('\r');

/** Line ends of every system. `onLine` gets the number of the line, from 1; `tooLong` that of a line that is too long. */
const createLineCutter = (onLine: (line: string, number: number) => NewEntry[], tooLong: (number: number) => Error) => {
  let rest = '';
  let number = 0;
  const cut = (text: string): NewEntry[] => {
    const lines = text.split(/\r\n?|\n/);
    rest = lines.pop()!;
    const entries: NewEntry[] = [];
    for (const line of lines) entries.push(...onLine(line, ++number));
    if (rest.length > MAX_LINE_LENGTH) throw tooLong(number + 1);
    return entries;
  };
  return {
    add: (text: string): NewEntry[] => {
      const known = rest + text;
      const entries = cut(isOpen(known) ? known.slice(0, -1) : known);
      if (isOpen(known)) rest += '\r';
      return entries;
    },
    end: (): NewEntry[] => {
      const entries = cut(rest);
      return rest === '' ? entries : [...entries, ...onLine(rest, ++number)];
    },
  };
};

const createItemReader = (origin: TextOrigin) => {
  let entries: NewEntry[] = [];
  const take = (): NewEntry[] => {
    const taken = entries;
    entries = [];
    return taken;
  };
  const items = createItemCutter(MAX_LINE_LENGTH, {
    onItem: (item, number) => entries.push(entryOf(item, `item ${number}`, origin)),
    refuse: (fault) => invalid(origin.pointer, `${origin.name} ${fault}`, 'malformed_line'),
  });
  return {
    add: (text: string): NewEntry[] => {
      items.add(text);
      return take();
    },
    end: (): NewEntry[] => {
      items.end();
      return take();
    },
  };
};

type TextReader = { readonly add: (text: string) => NewEntry[]; readonly end: () => NewEntry[] };

const createTextReader = (format: EntryFormat, origin: TextOrigin): TextReader => {
  if (format === 'json') return createItemReader(origin);
  const tooLong = (number: number) =>
    invalid(
      origin.pointer,
      `${origin.name} has more than ${MAX_LINE_LENGTH} characters in line ${number}: divide it into lines`,
      'line_too_long',
    );
  if (format === 'jsonl')
    return createLineCutter((line, number) => (line.trim() === '' ? [] : [entryOf(line, `line ${number}`, origin)]), tooLong);
  const { addLine, flush } = createPartJoiner(origin.source);
  const lines = createLineCutter(addLine, tooLong);
  return { add: lines.add, end: () => [...lines.end(), ...flush()] };
};

export type EntryFormat = 'text' | 'jsonl' | 'json';

export const createEntryReader = (format: EntryFormat, origin: TextOrigin): EntryReader => {
  const decode = createTextDecoder((fault) => invalid(origin.pointer, `${origin.name} ${fault}`, 'no_text'));
  const { add, end } = createTextReader(format, origin);
  return { add: (bytes) => add(decode(bytes)), end: () => [...add(decode()), ...end()] };
};
