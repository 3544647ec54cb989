/**
 * The name of the line with which an agent says which delivery made it act, in whatever it writes: a Git trailer in a
 * commit message, a line of a comment, or an HTTP header. Its value is the id of that delivery. Deliveries that result
 * from it have the line in their body, or in this header.
 */
export const CAUSE_NAME = 'Annals-Delivery';

/**
 * The delivery that led to another one. `depth`: how many deliveries led to that other one, one after another, at least
 * 1.
 */
export type Cause = { readonly delivery_id: string; readonly depth: number };

/** Of the ids in one delivery, only this many different ones are looked up. */
const MAX_IDS = 4;
const NAME_BYTES = new TextEncoder().encode(CAUSE_NAME);
/** Between name and id: a colon or an equals sign and blanks, as they are, percent-encoded or as `+`. */
const VALUE = /^(?::|=|%3A|%3D)(?: |\+|%20)*(c[a-z0-9]{24})(?![a-zA-Z0-9])/i;
const MAX_VALUE_BYTES = 64;

const idsInBytes = (bytes: Uint8Array): string[] => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const ids: string[] = [];
  for (let at = buffer.indexOf(NAME_BYTES); at >= 0 && ids.length < MAX_IDS; at = buffer.indexOf(NAME_BYTES, at)) {
    at += NAME_BYTES.length;
    const id = VALUE.exec(buffer.toString('latin1', at, at + MAX_VALUE_BYTES))?.[1];
    if (id && !ids.includes(id)) ids.push(id);
  }
  return ids;
};

const NONE: readonly string[] = [];

/**
 * Returns the ids that a delivery names as its cause, at most four: in the header, and in the chunks of its body.
 * Nobody has checked that they are ids of deliveries.
 */
export const namedCauses = (header: string | undefined, chunks: readonly Uint8Array[]): readonly string[] => {
  const inHeader = header === undefined ? undefined : /^\s*(c[a-z0-9]{24})\s*$/.exec(header)?.[1];
  const inBody = chunks.length === 1 ? idsInBytes(chunks[0]!) : chunks.flatMap(idsInBytes);
  if (inHeader === undefined) return inBody.length === 0 ? NONE : inBody.slice(0, MAX_IDS);
  return [...new Set([inHeader, ...inBody])].slice(0, MAX_IDS);
};
