import { spanOf } from '../encoding/protobuf.ts';
import type { Log } from '../log/log.ts';
import { EMPTY_APPEND, flagsAt, idAt, nameAt, positionAt, revisionAt, sizeAt } from '../log/record.ts';
import type { RecentIds } from './recent-ids.ts';
import { isStaleIndex, type StreamCache } from './stream-cache.ts';
import type { Index } from './stream-index.ts';

type Parts = { log: Log; index: Index; streams: StreamCache; recent: RecentIds };

/** Reads the log from the index's checkpoint on. Adds the events that it finds to the index and to the recent ids. */
const replay = ({ log, index, streams, recent }: Parts): void => {
  streams.clear();
  recent.clear();
  for (let page = log.page(index.checkpoint()); page.bytes.length > 0; page = log.page(page.next)) {
    const { bytes } = page;
    for (let at = 0; at < bytes.length; at += sizeAt(bytes, at)) {
      if (flagsAt(bytes, at) & EMPTY_APPEND) continue;
      const { key } = streams.get(nameAt(bytes, at).toString());
      index.put(key, revisionAt(bytes, at), positionAt(bytes, at));
      recent.add(spanOf(idAt(bytes, at)), key, revisionAt(bytes, at));
    }
    index.flushIfFullNow(page.next);
  }
  streams.clear();
};

/** Removes the entries of a failed batch from memory. */
export const reloadFromLog = (parts: Parts): void => {
  parts.index.reset();
  replay(parts);
};

/** An index that does not match the log is discarded and rebuilt. */
export const catchUpIndex = (parts: Parts): void => {
  const { log, index } = parts;
  if (index.checkpoint() > log.end()) index.discard();
  try {
    replay(parts);
  } catch (error) {
    if (!isStaleIndex(error)) throw error;
    index.discard();
    replay(parts);
  }
};
