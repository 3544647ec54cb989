import { join } from 'node:path';
import { NO_STREAM } from './append-decision.ts';
import { createAppendSignals } from './append-signals.ts';
import { createConcurrencyCheck } from './concurrency-check.ts';
import { catchUpIndex, reloadFromLog } from './index/index-replay.ts';
import { createRecentIds } from './index/recent-ids.ts';
import { createStreamCache, type StreamCache } from './index/stream-cache.ts';
import { openIndex } from './index/stream-index.ts';
import { openLog } from './log/log.ts';
import { removeUnfinished } from './log/segment.ts';
import { repair } from './repair.ts';
import { metadataEvent } from './system-events.ts';
import { createWriter, type Writer } from './writer.ts';

export type Store = ReturnType<typeof openStore>;

/** The first event in the log. EventStoreDB writes the same event first. */
const FIRST_EVENT = { stream: '$$$scavenges', metadata: '{\n  "$maxAge": 2592000\n}' };

const writeFirstEvent = (streams: StreamCache, writer: Writer): void => {
  const { stream, metadata } = FIRST_EVENT;
  if (streams.get(stream).last >= 0) return;
  const request = { kind: 'append' as const, stream, expected: NO_STREAM, events: [metadataEvent(metadata)] };
  writer.submit({ request, deadline: Number.POSITIVE_INFINITY, respond: () => {} });
  writer.flush();
};

/**
 * Opens the store without a server. `onFatalError` is called after a failed write, when the contents of the disk are unknown.
 * @throws Error if the log is damaged
 */
export const openStore = (dir: string, onFatalError: (error: unknown) => void) => {
  const log = openLog(join(dir, 'log'));
  const index = openIndex(join(dir, 'index'));
  const streams = createStreamCache(log, index);
  const recent = createRecentIds();
  const signals = createAppendSignals();

  removeUnfinished(log.dir);
  const truncatedBytes = repair(log.segments, index.checkpoint());
  catchUpIndex({ log, index, streams, recent });
  const writer = createWriter({
    log,
    decide: createConcurrencyCheck({ log, index, streams, recent, markAppended: signals.mark }),
    onAppended: () => {
      index.flushIfFull(log.end());
      signals.wakeMarked();
    },
    onDiscarded: () => reloadFromLog({ log, index, streams, recent }),
    onFatalError,
  });
  writeFirstEvent(streams, writer);

  const close = async (): Promise<void> => {
    await writer.idle();
    await index.close(log.end());
    await log.close();
  };
  return { log, index, streams, signals, writer, truncatedBytes, close };
};
