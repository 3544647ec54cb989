const STRUCTURE = /["\\[\]{},]/g;

/** `number` counts from 1; `refuse` is called with a fault of the array. */
export type ItemSink = { readonly onItem: (item: string, number: number) => void; readonly refuse: (fault: string) => Error };

/** `pending`: the text from the start of the current item on; read up to `at`. */
type Cutter = { place: 'before' | 'inside' | 'after'; pending: string; at: number; depth: number; isInString: boolean; number: number };

/** Moves over a character inside of the array. True if an item ends before it. */
const endsItem = (cutter: Cutter, character: string): boolean => {
  if (character === '"') cutter.isInString = !cutter.isInString;
  if (cutter.isInString || character === '"') return false;
  if (character === ',') return cutter.depth === 0;
  cutter.depth += character === '[' || character === '{' ? 1 : -1;
  return cutter.depth < 0;
};

const cutItem = (cutter: Cutter, end: number, { onItem }: ItemSink): void => {
  const item = cutter.pending.slice(0, end).trim();
  cutter.pending = cutter.pending.slice(end + 1);
  cutter.at = 0;
  if (cutter.depth < 0) cutter.place = 'after';
  if (item !== '' || cutter.number > 0 || cutter.place === 'inside') onItem(item, ++cutter.number);
};

const cutItems = (cutter: Cutter, sink: ItemSink): void => {
  while (cutter.place === 'inside') {
    STRUCTURE.lastIndex = cutter.at;
    const found = STRUCTURE.exec(cutter.pending);
    const isEscape = found?.[0] === '\\';
    const isIncomplete = isEscape && found!.index + 1 === cutter.pending.length;
    cutter.at = !found ? cutter.pending.length : isIncomplete ? found.index : found.index + (isEscape ? 2 : 1);
    if (!found || isIncomplete) return;
    if (!isEscape && endsItem(cutter, found[0])) cutItem(cutter, found.index, sink);
  }
};

/**
 * Cuts a JSON array that arrives in parts into its items, which are not checked. Throws what `refuse` returns if the text is more or less
 * than an array, or if an item has more than `maxLength` characters.
 */
export const createItemCutter = (maxLength: number, sink: ItemSink) => {
  const cutter: Cutter = { place: 'before', pending: '', at: 0, depth: 0, isInString: false, number: 0 };
  return {
    add: (text: string): void => {
      cutter.pending += text;
      const start = cutter.place === 'before' ? /^\s*\[/.exec(cutter.pending) : null;
      if (start) {
        cutter.place = 'inside';
        cutter.pending = cutter.pending.slice(start[0].length);
      }
      cutItems(cutter, sink);
      if (cutter.place === 'after' && cutter.pending.trim() !== '') throw sink.refuse('has more after the ] of its JSON array');
      if (cutter.pending.length > maxLength) throw sink.refuse(`has more than ${maxLength} characters in item ${cutter.number + 1}`);
    },
    end: (): void => {
      if (cutter.place === 'inside') throw sink.refuse(`ends in item ${cutter.number + 1}, before the ] of its JSON array`);
      if (cutter.place === 'before') throw sink.refuse('is not a JSON array');
    },
  };
};
