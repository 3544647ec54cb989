/** Characters that no text of a message needs, and that JSON would write as six bytes. */
const CONTROLS = /(?![\n\r\t])\p{Cc}/gu;

/** A part of a message's text. `isCut`: the text went on. */
export type CutText = { readonly text: string; readonly isCut: boolean };

/** Removes control characters from a text, and cuts it to at most `maxBytes` bytes of UTF-8. */
export const cutText = (value: string, maxBytes: number): CutText => {
  const text = value.toWellFormed().replace(CONTROLS, '');
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= maxBytes) return { text, isCut: false };
  // A character that the cut divides is left out.
  return { text: new TextDecoder().decode(bytes.subarray(0, maxBytes)).replace(/\ufffd+$/, ''), isCut: true };
};

const MAX_ID_LENGTH = 250;
const HEADER_ID = /<[^<>\s]+>/g;

/** Returns the ids of messages in a header such as References, at most the last `max`. */
export const headerIdsIn = (value: string | undefined, max: number): readonly string[] =>
  (value?.match(HEADER_ID) ?? []).filter((id) => id.length <= MAX_ID_LENGTH).slice(-max);
