import { Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from 'node:zlib';
import type { SizeLimit } from '../../commands/deliveries/webhook-ports.ts';
import type { Coding } from '../../domain/bodies/content-coding.ts';
import { chunksOf, type ReceivedBody } from '../../domain/bodies/received-body.ts';
import { Refusal } from '../../domain/refusal.ts';

/** The size of the pieces in which decompressed bytes are passed on. */
const PIECE_BYTES = 65_536;

/** Returns whether bytes start as zlib does (RFC 1950, 2.2). Some senders leave its header out of `deflate`. */
const isZlib = ([method = 0, flags = 0]: Uint8Array): boolean => (method & 0x0f) === 8 && ((method << 8) | flags) % 31 === 0;

const decoderOf = (coding: Coding, start: Uint8Array): Transform => {
  const options = { chunkSize: PIECE_BYTES };
  switch (coding) {
    case 'gzip':
      return createGunzip(options);
    case 'deflate':
      return isZlib(start) ? createInflate(options) : createInflateRaw(options);
    case 'br':
      return createBrotliDecompress(options);
    case 'zstd':
      return createZstdDecompress(options);
  }
};

type Bytes = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** Yields the bytes that a decoder gets, which can be many although it returns none. */
async function* limited({ maxBytes, refuse }: SizeLimit, bytes: Bytes): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of bytes) {
    size += piece.length;
    if (size > maxBytes) await refuse(size);
    yield piece;
  }
}

async function* startingWith(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

/** Removes one coding. The work is done in other threads, and only as far as the result is read. */
async function* removeCoding(coding: Coding, packed: Bytes): AsyncGenerator<Uint8Array> {
  const source = Readable.from(packed)[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  const first = await source.next();
  if (first.done) throw notPacked(coding);
  const input = Readable.from(startingWith(first.value, source), { objectMode: false });
  const decoder = decoderOf(coding, first.value);
  input.on('error', (error) => decoder.destroy(error));
  try {
    yield* input.pipe(decoder);
  } catch (error) {
    throw error instanceof Refusal ? error : notPacked(coding);
  } finally {
    input.destroy();
    decoder.destroy();
  }
}

const notPacked = (coding: Coding): Refusal =>
  new Refusal('malformed', `The Content-Encoding names ${coding}, but the body is damaged or no ${coding}: send it uncompressed`);

/**
 * Returns the bytes of a body without its codings, which are given in the order in which they were applied. The limit applies to the
 * encoded bytes, and to the result of each coding except the last one, whose size the reader must check. The stream ends with a Refusal
 * (malformed) if the body is not encoded in this way.
 */
export const unpackedBody = (codings: readonly Coding[], body: ReceivedBody, limit: SizeLimit): ReadableStream<Uint8Array> =>
  Readable.toWeb(
    Readable.from(
      codings.toReversed().reduce<Bytes>((bytes, coding) => removeCoding(coding, limited(limit, bytes)), chunksOf(body)),
      { objectMode: false },
    ),
  ) as ReadableStream<Uint8Array>;
