import { withStructuredIds } from '../encoding/structured-id.ts';
import type { Call } from '../grpc.ts';
import type { StreamCache } from '../index/stream-cache.ts';
import type { Index } from '../index/stream-index.ts';
import { resolvedLink } from '../link-events.ts';
import type { Log } from '../log/log.ts';
import { flagsAt, frameAt, LINK, positionAt } from '../log/record.ts';

const CHUNK_BYTES = 64 << 10;
/** A live subscription mostly receives one event at a time. */
const FIRST_CHUNK_BYTES = 2 << 10;

type Parts = { log: Log; index: Index; streams: StreamCache };
type Options = { resolveLinks: boolean; structuredIds: boolean };

export type ResponseWriter = ReturnType<typeof createResponseWriter>;

/** Collects the responses to a call into chunks. Stored frames are copied without decoding them. */
export const createResponseWriter = (call: Call, parts: Parts, { resolveLinks, structuredIds }: Options) => {
  let chunk = Buffer.alloc(0);
  let filled = 0;

  /** If it returns false, the reader is slow: await `call.drained()`. */
  const flush = (): boolean => {
    const bytes = chunk.subarray(0, filled);
    chunk = Buffer.alloc(0);
    filled = 0;
    return bytes.length === 0 || call.send(bytes);
  };

  const add = (frame: Buffer): void => {
    if (filled + frame.length > chunk.length) {
      const next = filled === 0 ? FIRST_CHUNK_BYTES : CHUNK_BYTES;
      flush();
      chunk = Buffer.allocUnsafeSlow(Math.max(next, frame.length));
    }
    filled += frame.copy(chunk, filled);
  };

  const addEvent = (records: Buffer, at: number): void => {
    const link = resolveLinks && flagsAt(records, at) & LINK;
    const frame = (link ? resolvedLink(parts, records, at, positionAt(records, at)) : undefined) ?? frameAt(records, at);
    add(structuredIds ? withStructuredIds(frame) : frame);
  };

  return { add, addEvent, flush };
};
