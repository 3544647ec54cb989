import type { AppendSignals } from '../append-signals.ts';
import type { Wide } from '../encoding/protobuf.ts';
import type { Call } from '../grpc.ts';
import { type Status, streamDeleted, unknown } from '../grpc-status.ts';
import type { StreamCache } from '../index/stream-cache.ts';
import type { Index } from '../index/stream-index.ts';
import { streamPage } from '../index/stream-page.ts';
import type { Log } from '../log/log.ts';
import { EMPTY_APPEND, flagsAt, sizeAt } from '../log/record.ts';
import { isWithinMaxAge, stateOf, visibleOf } from '../visibility.ts';
import { streamNotFound } from './append-responses.ts';
import type { From, LogPosition, ReadRequest } from './read-request.ts';
import type { ResponseWriter } from './response-writer.ts';

export type Parts = { log: Log; index: Index; streams: StreamCache; signals: AppendSignals };
export type Reading = { call: Call; request: ReadRequest; response: ResponseWriter };

/** If too much is unsent, waits until most of it is sent; otherwise lets other calls run for one turn of the event loop. */
export const yieldToOthers = async ({ call, response }: Reading): Promise<void> => {
  if (response.flush()) await new Promise((resolve) => setImmediate(resolve));
  else await call.drained();
};

export type StreamSource = Extract<ReadRequest['source'], { kind: 'stream' }>;

const bounds = (from: From<Wide>, backwards: boolean, low: number, last: number): { from: number; to: number } => {
  if (backwards) return { from: low, to: from === 'start' ? 0 : Math.min(from === 'end' ? last : Number(from), last) };
  return { from: Math.max(low, from === 'start' ? 0 : Number(from)), to: last };
};

/** Returns the status with which the call ends; undefined if it succeeded. */
export const readStream = async (parts: Parts, reading: Reading, source: StreamSource): Promise<Status | undefined> => {
  const { call, request, response } = reading;
  const { name, identifier } = source.named;
  if (name === '' || request.count < 1 || (source.from === 'end' && !request.backwards))
    return unknown('Unexpected ReadStreamResult: Error');
  const state = stateOf(parts.streams, name);
  if (state === 'deleted') return streamDeleted(name);
  if (state === 'absent') return void call.send(streamNotFound(identifier));
  const stream = parts.streams.get(name);
  const visible = visibleOf(stream, parts.streams.metadata(stream));
  const range = bounds(source.from, request.backwards, visible.low, stream.last);
  let left = request.count;
  // The first page of a backward read covers only the requested number of revisions; complete pages follow if needed.
  let maxEvents = left;
  while (left > 0 && range.from <= range.to && !call.isClosed()) {
    const from = request.backwards ? Math.max(range.from, range.to - maxEvents + 1) : range.from;
    const to = request.backwards ? range.to : Math.min(range.to, range.from + left - 1);
    maxEvents = Number.POSITIVE_INFINITY;
    const next = streamPage(parts, stream, { from, to, backwards: request.backwards }, (bytes, at) => {
      if (left <= 0 || !isWithinMaxAge(bytes, at, visible)) return;
      response.addEvent(bytes, at);
      left--;
    });
    if (request.backwards) range.to = next;
    else range.from = next;
    if (left > 0 && range.from <= range.to) await yieldToOthers(reading);
  }
  return undefined;
};

const notAPosition = unknown('Unexpected ReadAllResult: Error');

/** Undefined unless an event is at this position, or it is at or beyond the end of the log. */
export const startPositionOf = ({ log }: Parts, { commit, prepare }: LogPosition): number | undefined => {
  if (prepare > commit) return undefined;
  const position = Number(commit);
  if (position >= log.end()) return position;
  return commit === prepare && log.isReadablePosition(position) ? position : undefined;
};

export const isRequested = ({ filter }: ReadRequest, bytes: Buffer, at: number): boolean =>
  (flagsAt(bytes, at) & EMPTY_APPEND) === 0 && (!filter || filter.passes(bytes, at));

export type AllSource = Extract<ReadRequest['source'], { kind: 'all' }>;

const forwards = async ({ log }: Parts, reading: Reading, from: number): Promise<void> => {
  const { call, request, response } = reading;
  let left = request.count;
  let position = from;
  while (left > 0 && !call.isClosed()) {
    const { bytes, next } = log.intactPage(position);
    if (bytes.length === 0) return;
    for (let at = 0; at < bytes.length && left > 0; at += sizeAt(bytes, at)) {
      if (!isRequested(request, bytes, at)) continue;
      response.addEvent(bytes, at);
      left--;
    }
    position = next;
    if (left > 0) await yieldToOthers(reading);
  }
};

const backwards = async ({ log }: Parts, reading: Reading, from: number): Promise<void> => {
  const { call, request, response } = reading;
  let left = request.count;
  let position = from;
  while (left > 0 && !call.isClosed()) {
    const { bytes, next } = log.pageBefore(position);
    if (bytes.length === 0) return;
    for (let end = bytes.length; end > 0 && left > 0; ) {
      const at = end - bytes.readUInt32LE(end - 4);
      end = at;
      if (!isRequested(request, bytes, at)) continue;
      response.addEvent(bytes, at);
      left--;
    }
    position = next;
    if (left > 0) await yieldToOthers(reading);
  }
};

/** Only a forward read includes the start position. Returns the status with which the call ends; undefined if it succeeded. */
export const readAll = async (parts: Parts, reading: Reading, source: AllSource): Promise<Status | undefined> => {
  const { log } = parts;
  const start = source.from === 'start' ? 0 : source.from === 'end' ? log.end() : startPositionOf(parts, source.from);
  if (start === undefined || reading.request.count < 1) return notAPosition;
  if (reading.request.backwards) await backwards(parts, reading, Math.min(start, log.end()));
  else if (start < log.end()) await forwards(parts, reading, start);
  return undefined;
};
