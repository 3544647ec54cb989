export type TextLines = {
  readonly lines: string[];
  current: string[];
  /** What the lines of this place start with, such as `> ` in a quotation. `marker` replaces its end in one line. */
  prefix: string;
  marker: string;
  /** How many line ends are due before the next word, and which white space. */
  breaks: number;
  space: '' | ' ' | '\t';
};

export const emptyLines = (): TextLines => ({ lines: [], current: [], prefix: '', marker: '', breaks: 0, space: '' });

const MAX_BREAKS = 3;

const finishLine = (text: TextLines): void => {
  text.lines.push(text.current.join('').trimEnd());
  text.current = [];
  text.space = '';
};

/** Starts a new line, if the current one is not empty, after at least `breaks - 1` empty lines. */
export const startBlock = (text: TextLines, breaks: number): void => {
  if (text.current.length > 0) finishLine(text);
  text.breaks = Math.max(text.breaks, breaks);
  text.space = '';
};

/** Ends the current line, even if it is empty. */
export const breakLine = (text: TextLines): void => {
  const isEmpty = text.current.length === 0;
  if (!isEmpty) finishLine(text);
  text.breaks = isEmpty ? Math.min(MAX_BREAKS, text.breaks + 1) : 1;
};

const startOfLine = (text: TextLines): string => {
  const { prefix, marker } = text;
  text.marker = '';
  return marker === '' ? prefix : prefix.slice(0, Math.max(0, prefix.length - marker.length)) + marker;
};

export const appendText = (text: TextLines, words: string): void => {
  if (text.current.length === 0) {
    const isQuoted = text.prefix.startsWith('>') && text.lines.at(-1)?.startsWith('>');
    if (text.lines.length > 0) for (let count = 1; count < text.breaks; count++) text.lines.push(isQuoted ? '>' : '');
    text.current.push(startOfLine(text));
  } else if (text.space !== '') text.current.push(text.space);
  text.breaks = 0;
  text.space = '';
  text.current.push(words);
};

/** Runs of white space are shown as one space, and none at the start of a line. */
export const appendWords = (text: TextLines, content: string): void => {
  const words = content.replace(/[ \t\n\r\f]+/g, ' ');
  const core = words.replace(/^ | $/g, '');
  if (words.startsWith(' ')) text.space ||= ' ';
  if (core === '') return;
  appendText(text, core);
  if (words.endsWith(' ')) text.space = ' ';
};

/** Returns the whole text, without empty lines at its start and end. */
export const wholeText = (text: TextLines): string => {
  if (text.current.length > 0) finishLine(text);
  const first = text.lines.findIndex((line) => line !== '');
  const last = text.lines.findLastIndex((line) => line !== '');
  return first < 0 ? '' : text.lines.slice(first, last + 1).join('\n');
};
