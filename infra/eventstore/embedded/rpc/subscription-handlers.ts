import { randomUUID } from 'node:crypto';
import { type Status, streamDeleted, unknown } from '../grpc-status.ts';
import { PAGE_EVENTS, streamPage } from '../index/stream-page.ts';
import { isDamage } from '../log/corruption.ts';
import { positionAt, sizeAt, TOMBSTONE_REVISION } from '../log/record.ts';
import { isWithinMaxAge, stateOf, visibleOf } from '../visibility.ts';
import { caughtUp, checkpoint, confirmation } from './append-responses.ts';
import {
  type AllSource,
  isRequested,
  type Parts,
  type Reading,
  type StreamSource,
  startPositionOf,
  yieldToOthers,
} from './read-handlers.ts';
import type { LogPosition } from './read-request.ts';

/** Returns the revision at which to continue. */
const sendNew = async (parts: Parts, reading: Reading, name: string, from: number): Promise<number> => {
  const { streams } = parts;
  let next = from;
  while (!reading.call.isClosed()) {
    const stream = streams.get(name);
    const visible = visibleOf(stream, streams.metadata(stream));
    next = Math.max(next, Math.min(visible.low, stream.last + 1));
    if (next > stream.last) return next;
    const to = Math.min(stream.last, next + PAGE_EVENTS - 1);
    next = streamPage(parts, stream, { from: next, to, backwards: false }, (bytes, at) => {
      if (isWithinMaxAge(bytes, at, visible)) reading.response.addEvent(bytes, at);
    });
    if (next <= stream.last) await yieldToOthers(reading);
    else if (!reading.response.flush()) await reading.call.drained();
  }
  return next;
};

const sendTombstone = ({ index, log, streams }: Parts, { response }: Reading, name: string): void => {
  const position = index.find(streams.get(name).key, TOMBSTONE_REVISION);
  const record = position === undefined ? undefined : log.recordOrFreed(position);
  if (record) response.addEvent(record, 0);
  response.flush();
};

/** Sends the stored events, then new ones as they are appended. Returns the status with which the call ends. */
export const followStream = async (
  parts: Parts,
  reading: Reading,
  { named: { name }, from }: StreamSource,
): Promise<Status | undefined> => {
  const { call, response } = reading;
  if (name === '') return unknown('Exception was thrown by handler.');
  if (stateOf(parts.streams, name) === 'deleted') return streamDeleted(name);
  response.add(confirmation(randomUUID()));
  let next = from === 'start' ? 0 : from === 'end' ? parts.streams.get(name).last + 1 : Number(from) + 1;
  // As in EventStoreDB, a subscription to a stream that does not exist yet never sends CaughtUp.
  let hasReportedEnd = stateOf(parts.streams, name) === 'absent';
  response.flush();
  while (!call.isClosed()) {
    next = await sendNew(parts, reading, name, next);
    if (stateOf(parts.streams, name) === 'deleted') {
      sendTombstone(parts, reading, name);
      return streamDeleted(name);
    }
    if (parts.streams.get(name).last >= next) continue;
    if (!hasReportedEnd) call.send(caughtUp);
    hasReportedEnd = true;
    await parts.signals.waitForAppend(call, name);
  }
  return undefined;
};

/** Sends one after every `interval` examined events, and one at the log's end. Their positions never decrease. */
const createCheckpoints = (interval: number, start: number) => {
  let sinceLast = 0;
  let seen = start;
  let last = start;
  const report = (): Buffer | undefined => {
    sinceLast = 0;
    if (seen <= last) return undefined;
    last = seen;
    return checkpoint(seen);
  };
  const consider = (position: number): Buffer | undefined => {
    seen = position;
    return ++sinceLast % interval === 0 ? report() : undefined;
  };
  return { report, consider };
};

/** If the record at the start is damaged, returns also where to continue: the subscriber already has the damaged event. */
const startOf = (parts: Parts, from: LogPosition): [number | undefined, number?] => {
  try {
    return [startPositionOf(parts, from)];
  } catch (error) {
    const next = isDamage(error) ? parts.log.positionAfterDamaged(Number(from.commit)) : undefined;
    if (next === undefined) throw error;
    return [Number(from.commit), next];
  }
};

/** Sends the stored events, then new ones as they are appended. Returns the status with which the call ends. */
export const followAll = async (parts: Parts, reading: Reading, { from }: AllSource): Promise<Status | undefined> => {
  const { call, response, request } = reading;
  const { log } = parts;
  const [start, afterDamage] = from === 'start' ? [-1] : from === 'end' ? [log.end() - 1] : startOf(parts, from);
  if (start === undefined) return unknown('Unexpected ReadAllResult: Error');
  response.add(confirmation(randomUUID()));
  const { filter } = request;
  const checkpoints = createCheckpoints(filter?.interval ?? Number.POSITIVE_INFINITY, start);
  let position = start >= log.end() - 1 ? log.end() : (afterDamage ?? Math.max(0, start));
  let isLive = false;
  const add = (frame: Buffer | undefined) => frame && response.add(frame);
  const sendRecords = (bytes: Buffer) => {
    for (let at = 0; at < bytes.length; at += sizeAt(bytes, at)) {
      if (positionAt(bytes, at) <= start) continue;
      if (isRequested(request, bytes, at)) response.addEvent(bytes, at);
      if (filter) add(checkpoints.consider(positionAt(bytes, at)));
    }
  };
  const atLiveEnd = () => {
    if (isLive) return;
    isLive = true;
    if (filter) add(checkpoints.report());
    response.add(caughtUp);
  };
  while (!call.isClosed()) {
    const { bytes, next } = position < log.end() ? log.intactPage(position) : { bytes: Buffer.alloc(0), next: position };
    sendRecords(bytes);
    position = next;
    if (position < log.end()) {
      if (isLive && response.flush()) continue;
      await yieldToOthers(reading);
      continue;
    }
    atLiveEnd();
    if (!response.flush()) await call.drained();
    if (position >= log.end()) await parts.signals.waitForAppend(call);
  }
  return undefined;
};
