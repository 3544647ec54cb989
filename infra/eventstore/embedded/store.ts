import { join } from 'node:path';
import { createAppendSignals } from './append-signals.ts';
import { createConcurrencyCheck } from './concurrency-check.ts';
import { openLog } from './log.ts';
import { spanOf } from './protobuf.ts';
import { createRecentIds } from './recent-ids.ts';
import { EMPTY_APPEND, flagsAt, idAt, nameAt, positionAt, revisionAt, sizeAt } from './record.ts';
import { repair } from './repair.ts';
import { removeUnfinished } from './segment.ts';
import { createStreamCache, isStaleIndex } from './stream-cache.ts';
import { openIndex } from './stream-index.ts';
import { metadataEvent } from './system-events.ts';
import { createWriter } from './writer.ts';

export type Store = ReturnType<typeof openStore>;

/** The first thing in a real node's log. */
const FIRST_EVENT = { stream: '$$$scavenges', metadata: '{\n  "$maxAge": 2592000\n}' };

/** The store of a directory, without a server. @throws where its log is damaged */
export const openStore = (dir: string, fatal: (error: unknown) => void) => {
  const log = openLog(join(dir, 'log'));
  const index = openIndex(join(dir, 'index'));
  const streams = createStreamCache(log, index);
  const recent = createRecentIds();
  const signals = createAppendSignals();

  const replay = (): void => {
    for (let found = log.page(index.checkpoint()); found.bytes.length > 0; found = log.page(found.next)) {
      const { bytes } = found;
      for (let at = 0; at < bytes.length; at += sizeAt(bytes, at)) {
        if (flagsAt(bytes, at) & EMPTY_APPEND) continue;
        const name = nameAt(bytes, at).toString();
        const stream = streams.get(name);
        index.put(stream.key, revisionAt(bytes, at), positionAt(bytes, at));
        recent.add(spanOf(idAt(bytes, at)), stream.key, revisionAt(bytes, at));
      }
      index.flushIfFullNow(found.next);
    }
    streams.clear();
  };

  const replayAnew = (): void => {
    streams.clear();
    recent.clear();
    replay();
  };

  const forget = (): void => {
    index.reset();
    replayAnew();
  };

  /** An index that does not fit to the log, which alone counts, is made anew from it. */
  const catchUp = (): void => {
    if (index.checkpoint() > log.end()) index.discard();
    try {
      replay();
    } catch (error) {
      if (!isStaleIndex(error)) throw error;
      index.discard();
      replayAnew();
    }
  };

  const grown = (): void => {
    index.settle(log.end());
    signals.grown();
  };

  removeUnfinished(log.dir);
  const truncatedBytes = repair(log.segments, index.checkpoint());
  catchUp();
  const decide = createConcurrencyCheck({ log, index, streams, recent, touch: signals.touch });
  const writer = createWriter({ log, decide, grown, forget, fatal });
  if (streams.get(FIRST_EVENT.stream).last < 0) {
    const request = { kind: 'append' as const, stream: FIRST_EVENT.stream, expected: -1, events: [metadataEvent(FIRST_EVENT.metadata)] };
    writer.submit({ request, deadline: Number.POSITIVE_INFINITY, respond: () => {} });
    writer.flush();
  }

  const close = async (): Promise<void> => {
    await writer.idle();
    await index.close(log.end());
    await log.close();
  };
  return { log, index, streams, signals, writer, truncatedBytes, close };
};
