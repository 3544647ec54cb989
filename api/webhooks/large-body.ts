import { Refusal } from '../../domain/refusal.ts';
import { CHUNK_BYTES, MAX_BODY_BYTES } from '../../domain/webhooks/delivery-body.ts';
import { rejectTruncated } from '../http/json-body.ts';

/** Memory for a body of so many bytes, if it may come. @throws Refusal */
export type Enter = (size: number) => Promise<Uint8Array>;

/**
 * The bytes of a body that may be large: `enter` is asked before more than a part of them is held; from then on they lie in the
 * memory that it gave. `declared`: NaN where no length is. @throws Refusal malformed; whatever `enter` throws
 */
export const largeBytesOf = async ({ body }: Request, declared: number, enter: Enter): Promise<Uint8Array> => {
  const most = Number.isNaN(declared) ? MAX_BODY_BYTES : declared;
  const begun: Uint8Array[] = [];
  let large: Uint8Array | null = null;
  let size = 0;
  if (declared > CHUNK_BYTES) large = await enter(most);
  for await (const chunk of incoming(body)) {
    const at = size;
    size += chunk.length;
    if (size > most && declared >= 0) throw new Refusal('malformed', 'the body goes on behind its length');
    if (size > most) await enter(size);
    if (!large && size > CHUNK_BYTES) {
      large = await enter(most);
      large.set(Buffer.concat(begun));
    }
    if (large) large.set(chunk, at);
    else begun.push(chunk);
  }
  return large ? large.subarray(0, size) : Buffer.concat(begun);
};

async function* incoming(body: Request['body']) {
  try {
    yield* body ?? [];
  } catch (error) {
    rejectTruncated(error);
  }
}
