/**
 * An agent that acts because of a delivery writes this name and the delivery's id into what it creates: a Git trailer, a line of a
 * comment, an HTTP header. A delivery that results has this line in its body, or this header.
 */
export const CAUSE_NAME = 'Annals-Delivery';

/** `depth`: deliveries in the chain before the caused one, at least 1. */
export type Cause = { readonly delivery_id: string; readonly depth: number };

/** Ids in one delivery for which the platform looks up a delivery. */
const MAX_IDS = 4;
const NAME_BYTES = new TextEncoder().encode(CAUSE_NAME);
/** After the name: a colon or an equals sign, and spaces (also percent-encoded, or with `+` for spaces), then the id. */
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

/** The delivery ids from the header and from the body, at most four. Whether such deliveries exist is not checked. */
export const namedCauses = (header: string | undefined, chunks: readonly Uint8Array[]): readonly string[] => {
  const inHeader = header === undefined ? undefined : /^\s*(c[a-z0-9]{24})\s*$/.exec(header)?.[1];
  const inBody = chunks.length === 1 ? idsInBytes(chunks[0]!) : chunks.flatMap(idsInBytes);
  if (inHeader === undefined) return inBody.length === 0 ? NONE : inBody.slice(0, MAX_IDS);
  return [...new Set([inHeader, ...inBody])].slice(0, MAX_IDS);
};
