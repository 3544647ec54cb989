/**
 * When an agent acts because of a delivery, it writes a line with this name and the id of the delivery into what it
 * creates: a Git trailer in a commit message, a line of a comment, or an HTTP header. A delivery that results from the
 * action then has this line in its body, or this header.
 */
export const CAUSE_NAME = 'Annals-Delivery';

/**
 * The delivery that caused another delivery. `depth` is the number of deliveries in the chain before the caused one, at
 * least 1.
 */
export type Cause = { readonly delivery_id: string; readonly depth: number };

/** The maximum number of different ids in one delivery for which the platform looks up a delivery. */
const MAX_IDS = 4;
const NAME_BYTES = new TextEncoder().encode(CAUSE_NAME);
/**
 * Matches what follows the name: a separator (a colon or an equals sign, and spaces; also percent-encoded, or with `+`
 * for spaces) and the id.
 */
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
 * Returns the ids that a delivery names as its cause: that in the header, and those in the chunks of its body, at most
 * four in total. Whether deliveries with these ids exist is not checked.
 */
export const namedCauses = (header: string | undefined, chunks: readonly Uint8Array[]): readonly string[] => {
  const inHeader = header === undefined ? undefined : /^\s*(c[a-z0-9]{24})\s*$/.exec(header)?.[1];
  const inBody = chunks.length === 1 ? idsInBytes(chunks[0]!) : chunks.flatMap(idsInBytes);
  if (inHeader === undefined) return inBody.length === 0 ? NONE : inBody.slice(0, MAX_IDS);
  return [...new Set([inHeader, ...inBody])].slice(0, MAX_IDS);
};
