/** A body of more than CHUNK_BYTES, as received: its size in bytes, and its bytes in chunks of CHUNK_BYTES. */
export type ChunkedBody = { readonly length: number; readonly chunks: readonly Uint8Array[] };

/** The bytes of a body as received. Only a body of more than CHUNK_BYTES is held in chunks. */
export type ReceivedBody = Uint8Array | ChunkedBody;

export const chunksOf = (body: ReceivedBody): readonly Uint8Array[] => (body instanceof Uint8Array ? [body] : body.chunks);
