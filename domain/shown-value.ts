const MAX_SHOWN = 100;

/** For refusals: in quotes, on one line, and cut if it is long. */
export const shownValue = (text: string | null | undefined): string =>
  text === null || text === undefined || text === ''
    ? 'none'
    : `"${text.slice(0, MAX_SHOWN).replace(/[^\x20-\x7e]/g, '?')}${text.length > MAX_SHOWN ? '…' : ''}"`;
