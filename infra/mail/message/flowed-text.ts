type Line = { readonly quotes: number; readonly text: string };

/** Reads a line of RFC 3676: its depth of quotation, and its text without a stuffed space. */
const readLine = (line: string): Line => {
  const quotes = /^>*/.exec(line)![0].length;
  const text = line.slice(quotes);
  return { quotes, text: text.startsWith(' ') ? text.slice(1) : text };
};

const shown = ({ quotes }: Line, texts: readonly string[]): string => `${'>'.repeat(quotes)}${quotes > 0 ? ' ' : ''}${texts.join('')}`;

const SIGNATURE = '-- ';

/** `format=flowed` (RFC 3676): a line that ends with a space continues in the next of the same quotation depth; `delsp` drops the space. */
export const joinFlowedLines = (text: string, hasDelSp: boolean): string => {
  const joined: string[] = [];
  let first: Line | null = null;
  let texts: string[] = [];
  const finish = (): void => {
    if (first) joined.push(shown(first, texts));
    first = null;
    texts = [];
  };
  for (const line of text.split('\n').map(readLine)) {
    if (first && (first as Line).quotes !== line.quotes) finish();
    first ??= line;
    const continues = line.text.endsWith(' ') && line.text !== SIGNATURE;
    texts.push(continues && hasDelSp ? line.text.slice(0, -1) : line.text);
    if (!continues) finish();
  }
  finish();
  return joined.join('\n');
};
