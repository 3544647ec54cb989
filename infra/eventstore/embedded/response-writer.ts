import type { Call } from './grpc.ts';
import { resolvedLink } from './link-events.ts';
import type { Log } from './log.ts';
import { flagsAt, frameAt, LINK, positionAt } from './record.ts';
import type { StreamCache } from './stream-cache.ts';
import type { Index } from './stream-index.ts';
import { withStructuredIds } from './structured-id.ts';

const CHUNK = 64 << 10;
// Small, because a live subscriber mostly gets one event at a time.
const FIRST_CHUNK = 2 << 10;

type Parts = { log: Log; index: Index; streams: StreamCache };
type Wishes = { resolveLinks: boolean; structuredIds: boolean };

export type ResponseWriter = ReturnType<typeof createResponseWriter>;

/** Gathers what a call is sent into chunks: stored frames are copied as they are. */
export const createResponseWriter = (call: Call, parts: Parts, { resolveLinks, structuredIds }: Wishes) => {
  let chunk = Buffer.alloc(0);
  let filled = 0;

  /** False: the reader does not keep up, wait for the call to drain. */
  const flush = (): boolean => {
    const bytes = chunk.subarray(0, filled);
    chunk = Buffer.alloc(0);
    filled = 0;
    return bytes.length === 0 || call.send(bytes);
  };

  const add = (frame: Buffer): void => {
    if (filled + frame.length > chunk.length) {
      const next = filled === 0 ? FIRST_CHUNK : CHUNK;
      flush();
      chunk = Buffer.allocUnsafeSlow(Math.max(next, frame.length));
    }
    filled += frame.copy(chunk, filled);
  };

  /** The event of the record at `at`. */
  const event = (records: Buffer, at: number): void => {
    const link = resolveLinks && flagsAt(records, at) & LINK;
    const frame = (link ? resolvedLink(parts, records, at, positionAt(records, at)) : undefined) ?? frameAt(records, at);
    add(structuredIds ? withStructuredIds(frame) : frame);
  };

  return { add, event, flush };
};
