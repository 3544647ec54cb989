import { bytesField, bytesOf, framedMessage, messageField, readFields, uintField } from './encoding/protobuf.ts';
import type { StreamCache } from './index/stream-cache.ts';
import type { Index } from './index/stream-index.ts';
import type { Log } from './log/log.ts';
import { recordedAt, revisionAt } from './log/record.ts';
import { isWithinMaxAge, stateOf, visibleOf } from './visibility.ts';

type Parts = { log: Log; index: Index; streams: StreamCache };

/** Undefined if the event is no longer visible. */
const targetOf = ({ log, index, streams }: Parts, name: string, revision: number): Buffer | undefined => {
  if (stateOf(streams, name) !== 'present') return undefined;
  const stream = streams.get(name);
  const visible = visibleOf(stream, streams.metadata(stream));
  const position = revision < visible.low ? undefined : index.find(stream.key, revision);
  const record = position === undefined ? undefined : log.recordOrFreed(position);
  if (!record || revisionAt(record, 0) !== revision || !isWithinMaxAge(record, 0, visible)) return undefined;
  return recordedAt(record, 0);
};

/** Contains the event and the link itself; undefined if the data do not have the form of a link. */
export const resolvedLink = (parts: Parts, records: Buffer, at: number, position: number): Buffer | undefined => {
  const link = recordedAt(records, at);
  const data = bytesOf(readFields(link), 8)?.toString() ?? '';
  const [, revision, name] = /^(\d+)@(.+)$/s.exec(data) ?? [];
  if (revision === undefined || name === undefined) return undefined;
  const target = targetOf(parts, name, Number(revision));
  return framedMessage(messageField(1, target ? bytesField(1, target) : Buffer.alloc(0), bytesField(2, link), uintField(3, position)));
};
