/** A range of bytes: from `start` to `end`, both inclusive. */
export type ByteRange = { readonly start: number; readonly end: number };

/**
 * Returns the range in a Range header (RFC 9110, 14.1.2). Null means that the whole content is to be sent, because the
 * header is absent, malformed or contains several ranges. `unsatisfiable` means that the range lies outside of the
 * content.
 */
export const rangeIn = (header: string | undefined, size: number): ByteRange | 'unsatisfiable' | null => {
  const match = /^bytes\s*=\s*(\d{0,15})-(\d{0,15})$/i.exec(header?.trim() ?? '');
  const [, first = '', last = ''] = match ?? [];
  if (!match || (first === '' && last === '')) return null;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  if (last !== '' && Number(last) < Number(first)) return null;
  if (Number(first) >= size) return 'unsatisfiable';
  return { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
};

/** Yields the bytes of `content` that are in the range. Stops reading at the end of the range. */
export async function* bytesInRange(content: AsyncIterable<Uint8Array>, { start, end }: ByteRange): AsyncGenerator<Uint8Array> {
  let at = 0;
  for await (const bytes of content) {
    const part = bytes.subarray(Math.max(0, start - at), Math.max(0, end + 1 - at));
    at += bytes.length;
    if (part.length > 0) yield part;
    if (at > end) return;
  }
}
