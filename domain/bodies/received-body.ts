/** More than CHUNK_BYTES, in chunks of CHUNK_BYTES; `length` in bytes. */
export type ChunkedBody = { readonly length: number; readonly chunks: readonly Uint8Array[] };

/** Only a body of more than CHUNK_BYTES is held in chunks. */
export type ReceivedBody = Uint8Array | ChunkedBody;

export const chunksOf = (body: ReceivedBody): readonly Uint8Array[] => (body instanceof Uint8Array ? [body] : body.chunks);
