import { Refusal } from '../../domain/refusal.ts';
import { CHUNK_BYTES, MAX_BODY_BYTES } from '../../domain/webhooks/delivery-body.ts';
import { rejectTruncated } from '../http/json-body.ts';

/** Returns memory for a body of `size` bytes. @throws Refusal if the body is too large, or no memory is free */
export type AdmitBody = (size: number) => Promise<Uint8Array>;

/**
 * Reads a body of any size. Up to the size of one chunk, the body is held in ordinary memory. A larger body is read
 * into the memory that `admit` returns. `declared` is the Content-Length, or NaN if there is none.
 * @throws Refusal malformed, and the errors of `admit`
 */
export const readLargeBody = async ({ body }: Request, declared: number, admit: AdmitBody): Promise<Uint8Array> => {
  const maxSize = Number.isNaN(declared) ? MAX_BODY_BYTES : declared;
  const small: Uint8Array[] = [];
  let large: Uint8Array | null = null;
  let size = 0;
  if (declared > CHUNK_BYTES) large = await admit(maxSize);
  for await (const bytes of incoming(body)) {
    const at = size;
    size += bytes.length;
    if (size > maxSize && declared >= 0) throw new Refusal('malformed', 'The body is longer than its Content-Length');
    if (size > maxSize) await admit(size);
    if (!large && size > CHUNK_BYTES) {
      large = await admit(maxSize);
      large.set(Buffer.concat(small));
    }
    if (large) large.set(bytes, at);
    else small.push(bytes);
  }
  return large ? large.subarray(0, size) : Buffer.concat(small);
};

async function* incoming(body: Request['body']) {
  try {
    yield* body ?? [];
  } catch (error) {
    rejectTruncated(error);
  }
}
