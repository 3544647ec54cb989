/**
 * Matches control characters. They are removed, because no message text needs them, and JSON would use six bytes for
 * each.
 */
const CONTROLS = /(?![\n\r\t])\p{Cc}/gu;

/** The start of a message's text. `isCut`: whether the rest was left out. */
export type CutText = { readonly text: string; readonly isCut: boolean };

/** Removes control characters from a text, and cuts it to at most `maxBytes` bytes of UTF-8. */
export const cutText = (value: string, maxBytes: number): CutText => {
  const text = value.toWellFormed().replace(CONTROLS, '');
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= maxBytes) return { text, isCut: false };
  // If the cut divides a character, that character is left out.
  return { text: new TextDecoder().decode(bytes.subarray(0, maxBytes)).replace(/\ufffd+$/, ''), isCut: true };
};

const MAX_ID_LENGTH = 250;
const HEADER_ID = /<[^<>\s]+>/g;

/** Returns the message ids in a header such as References; the last `max` of them if there are more. */
export const headerIdsIn = (value: string | undefined, max: number): readonly string[] =>
  (value?.match(HEADER_ID) ?? []).filter((id) => id.length <= MAX_ID_LENGTH).slice(-max);
