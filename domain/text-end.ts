/**
 * Returns a text without the characters (code points) at its end that match `part`. It takes linear time, unlike
 * `text.replace(/x+$/, '')`, which tries every start of a run of such characters anywhere in the text.
 */
export const withoutEnd = (text: string, part: RegExp): string => {
  let end = text.length;
  while (end > 0) {
    const start = end - ((text.codePointAt(end - 2) ?? 0) > 0xffff ? 2 : 1);
    if (!part.test(text.slice(start, end))) break;
    end = start;
  }
  return text.slice(0, end);
};
