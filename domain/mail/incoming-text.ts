import { withoutEnd } from '../text-end.ts';

/** Removed, because no text needs them, and each would take six bytes in JSON. */
const CONTROLS = /(?![\n\r\t])\p{Cc}/gu;

/** `isCut`: the text was longer. */
export type CutText = { readonly text: string; readonly isCut: boolean };

/** How many characters are read for each byte that is kept: some may be removed. */
const READ_PER_BYTE = 4;

/** Removes control characters, and cuts to at most `maxBytes` bytes of UTF-8. */
export const cutText = (value: string, maxBytes: number): CutText => {
  const head = value.slice(0, READ_PER_BYTE * maxBytes);
  const text = head.toWellFormed().replace(CONTROLS, '');
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= maxBytes) return { text, isCut: head.length < value.length };
  // If the cut is within a character, this character is left out.
  return { text: withoutEnd(new TextDecoder().decode(bytes.subarray(0, maxBytes)), /\ufffd/), isCut: true };
};

const MAX_ID_LENGTH = 250;
const HEADER_ID = /<[^<>\s]+>/g;

/** Returns the ids in a header such as References; if there are more than `max`, the last ones. */
export const headerIdsIn = (value: string | undefined, max: number): readonly string[] =>
  (value?.match(HEADER_ID) ?? []).filter((id) => id.length <= MAX_ID_LENGTH).slice(-max);
