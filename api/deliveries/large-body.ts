import type { BodyMemory } from '../../commands/deliveries/webhook-ports.ts';
import { CHUNK_BYTES, MAX_BODY_BYTES } from '../../domain/bodies/delivery-body.ts';
import type { ReceivedBody } from '../../domain/bodies/received-body.ts';
import { Refusal } from '../../domain/refusal.ts';
import { rejectTruncated } from '../http/json-body.ts';

/** Reserves memory for a body of `size` bytes. @throws Refusal if the body is too large */
export type AdmitBody = (size: number) => Promise<BodyMemory>;

const FIRST_BUFFER_BYTES = 65_536;

/**
 * Reads a body that may be large. If it has at most CHUNK_BYTES, it is one array in ordinary memory. Otherwise it is
 * stored in chunks from the memory that `admit` returns, which are allocated as the bytes arrive. `admit` is called
 * before the body is read if its Content-Length is larger than one chunk; otherwise, when the body exceeds one chunk.
 * `declared` is the Content-Length; NaN if there is none.
 * @throws Refusal malformed, too_slow, unavailable, and the errors of `admit`
 */
export const readLargeBody = async ({ body }: Pick<Request, 'body'>, declared: number, admit: AdmitBody): Promise<ReceivedBody> => {
  const maxSize = Number.isNaN(declared) ? MAX_BODY_BYTES : declared;
  const small = createSmallBuffer();
  let memory = declared > CHUNK_BYTES ? await admit(maxSize) : null;
  let large: ReturnType<typeof createChunkWriter> | null = null;
  let size = 0;
  for await (const bytes of incoming(body, () => memory?.failed)) {
    size += bytes.length;
    memory?.countBytes(bytes.length);
    if (size > maxSize && declared >= 0) throw new Refusal('malformed', 'The body is longer than its Content-Length');
    if (size > maxSize) await admit(size);
    if (!large && size <= CHUNK_BYTES) {
      small.add(bytes);
      continue;
    }
    memory ??= await admit(maxSize);
    if (!large) {
      large = createChunkWriter(memory);
      await large.add(small.bytes());
    }
    await large.add(bytes);
  }
  memory?.complete();
  return large ? { length: size, chunks: large.chunks() } : small.bytes();
};

/**
 * Yields the bytes of a body as they arrive. Stops with an error when the promise that `failed` returns is rejected.
 * @throws Refusal if the connection breaks, and the error of `failed`
 */
async function* incoming(body: Request['body'], failed: () => Promise<never> | undefined): AsyncGenerator<Uint8Array> {
  if (!body) return;
  const reader = body.getReader();
  let failure: Promise<never> | undefined;
  let refusal: unknown;
  try {
    for (;;) {
      // Add only one listener for each body: one for each read would use memory until the promise is settled.
      if (!failure) {
        failure = failed();
        failure?.catch((error: unknown) => {
          refusal = error;
          reader.cancel().catch(() => {});
        });
      }
      const { done, value } = await reader.read().catch((error) => rejectTruncated(refusal ?? error));
      if (refusal) throw refusal;
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/**
 * Creates a buffer for up to CHUNK_BYTES bytes. It is a single growing array, because many small arrays would need much
 * more memory.
 */
const createSmallBuffer = () => {
  let buffer = new Uint8Array(0);
  let size = 0;
  return {
    add: (bytes: Uint8Array): void => {
      const needed = size + bytes.length;
      if (needed > buffer.length) {
        const larger = new Uint8Array(Math.min(CHUNK_BYTES, Math.max(needed, 2 * buffer.length, FIRST_BUFFER_BYTES)));
        larger.set(buffer.subarray(0, size));
        buffer = larger;
      }
      buffer.set(bytes, size);
      size = needed;
    },
    bytes: (): Uint8Array<ArrayBuffer> => buffer.subarray(0, size),
  };
};

/** Creates a writer that fills chunks with bytes. It takes a new chunk only when the last one is full. */
const createChunkWriter = (memory: BodyMemory) => {
  const chunks: Uint8Array[] = [];
  let filled = CHUNK_BYTES;
  return {
    add: async (bytes: Uint8Array): Promise<void> => {
      for (let at = 0; at < bytes.length; ) {
        if (filled === CHUNK_BYTES) {
          chunks.push(await memory.nextChunk());
          filled = 0;
        }
        const next = bytes.subarray(at, at + CHUNK_BYTES - filled);
        chunks.at(-1)!.set(next, filled);
        filled += next.length;
        at += next.length;
      }
    },
    chunks: (): readonly Uint8Array[] => [...chunks.slice(0, -1), chunks.at(-1)!.subarray(0, filled)],
  };
};
