/** Removes code points at the end that match `part`. Linear time, unlike `text.replace(/x+$/, '')`, which tries every start of a run. */
export const withoutEnd = (text: string, part: RegExp): string => {
  let end = text.length;
  while (end > 0) {
    const start = end - ((text.codePointAt(end - 2) ?? 0) > 0xffff ? 2 : 1);
    if (!part.test(text.slice(start, end))) break;
    end = start;
  }
  return text.slice(0, end);
};
