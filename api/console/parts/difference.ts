import { diffLines, diffWordsWithSpace, type Change as Part } from 'diff';
import { counted } from './count-text.ts';
import { type Child, tags } from './tags.ts';

const { del, div, ins, mark, td } = tags;

/** If two texts differ in more places than this, they are shown side by side without marks. */
const MAX_EDITS = 400;
/** The number of equal lines that are shown before and after a changed line. */
const CONTEXT_LINES = 2;

/** Renders one of two texts. The words in which it differs from the other are marked. */
const marked = (parts: readonly Part[], isOther: (part: Part) => boolean): Child =>
  parts.filter((part) => !isOther(part)).map(({ added, removed, value }) => (added || removed ? mark(null, value) : value));

const linesOf = (text: string): readonly string[] => (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');

/** Renders equal lines. If there are many, only those next to the changed ones are shown. */
const equalLines = (text: string): Child => {
  const lines = linesOf(text);
  if (lines.length <= 2 * CONTEXT_LINES + 1) return lines.map((line) => div(null, line));
  const hidden = lines.length - 2 * CONTEXT_LINES;
  return [
    ...lines.slice(0, CONTEXT_LINES).map((line) => div(null, line)),
    div({ class: 'quiet' }, counted(hidden, 'equal line')),
    ...lines.slice(-CONTEXT_LINES).map((line) => div(null, line)),
  ];
};

const lineDifference = (parts: readonly Part[]): Child =>
  td(
    { colspan: 2, class: 'line-difference' },
    ...parts.map(({ added, removed, value }) => {
      if (!added && !removed) return equalLines(value);
      return linesOf(value).map((line) => div(null, added ? ins(null, line) : del(null, line)));
    }),
  );

const asLine = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`);

/** A text of a tenant that operators do not see. Only its length and a part of its digest are shown. */
const MASKED = /^\[\d+ characters?, [0-9a-f]+\]$/;

/**
 * Renders the cells that show how two texts differ. Texts of several lines are compared by line, others by word. Null if
 * a comparison does not help: they differ too much, or one of them is masked.
 */
export const textDifference = (from: string, to: string): Child => {
  if (MASKED.test(from) || MASKED.test(to)) return null;
  if (from.includes('\n') || to.includes('\n')) {
    const lines = diffLines(asLine(from), asLine(to), { maxEditLength: MAX_EDITS });
    return lines ? lineDifference(lines) : null;
  }
  const words = diffWordsWithSpace(from, to, { maxEditLength: MAX_EDITS });
  if (!words?.some(({ added, removed, value }) => !added && !removed && value.trim() !== '')) return null;
  return [
    td(
      null,
      del(
        null,
        marked(words, ({ added }) => added === true),
      ),
    ),
    td(
      null,
      ins(
        null,
        marked(words, ({ removed }) => removed === true),
      ),
    ),
  ];
};
