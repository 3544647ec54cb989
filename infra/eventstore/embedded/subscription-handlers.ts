import { randomUUID } from 'node:crypto';
import { caughtUp, checkpoint, confirmation } from './append-responses.ts';
import { isDamage } from './corruption.ts';
import { type Status, streamDeleted, unknown } from './grpc-status.ts';
import { isRequested, type Parts, type Reading, startPositionOf, yieldToOthers } from './read-handlers.ts';
import type { LogPosition, ReadRequest } from './read-request.ts';
import { positionAt, sizeAt, TOMBSTONE_REVISION } from './record.ts';
import { PAGE_EVENTS, streamPage } from './stream-page.ts';
import { isWithinMaxAge, stateOf, visibleOf } from './visibility.ts';

type StreamSource = Extract<ReadRequest['source'], { kind: 'stream' }>;
type AllSource = Extract<ReadRequest['source'], { kind: 'all' }>;

/** Sends what the stream has from a revision on, until nothing is left at that moment. @returns the next revision */
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
      if (isWithinMaxAge(bytes, at, visible)) reading.response.event(bytes, at);
    });
    if (next <= stream.last) await yieldToOthers(reading);
    else if (!reading.response.flush()) await reading.call.drained();
  }
  return next;
};

const sendTombstone = ({ index, log, streams }: Parts, { response }: Reading, name: string): void => {
  const position = index.find(streams.get(name).key, TOMBSTONE_REVISION);
  const record = position === undefined ? undefined : log.recordOrFreed(position);
  if (record) response.event(record, 0);
  response.flush();
};

/** A stream's events as they come, after the one at the revision given. @returns how the call ends */
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
  // A stream that is not there at first never says that it was caught up with: so does a real node.
  let quiet = stateOf(parts.streams, name) === 'absent';
  response.flush();
  while (!call.isClosed()) {
    next = await sendNew(parts, reading, name, next);
    if (stateOf(parts.streams, name) === 'deleted') {
      sendTombstone(parts, reading, name);
      return streamDeleted(name);
    }
    if (parts.streams.get(name).last >= next) continue;
    if (!quiet) call.send(caughtUp);
    quiet = true;
    await parts.signals.waitForAppend(call, name);
  }
  return undefined;
};

/** How far the store has looked on behalf of a filter, told every so many events and at the live end; it never goes back. */
const progress = (interval: number, told: number) => {
  let since = 0;
  let seen = told;
  let last = told;
  const tell = (): Buffer | undefined => {
    since = 0;
    if (seen <= last) return undefined;
    last = seen;
    return checkpoint(seen);
  };
  const consider = (position: number): Buffer | undefined => {
    seen = position;
    return ++since % interval === 0 ? tell() : undefined;
  };
  return { tell, consider };
};

/** Where to begin behind a position. The record there was read before: it is needed no more, if only it tells where the next one begins. */
const startOf = (parts: Parts, from: LogPosition): [number | undefined, number?] => {
  try {
    return [startPositionOf(parts, from)];
  } catch (error) {
    const behind = isDamage(error) ? parts.log.positionAfterDamaged(Number(from.commit)) : undefined;
    if (behind === undefined) throw error;
    return [Number(from.commit), behind];
  }
};

/** The log's events as they come, after the one at the position given. @returns how the call ends */
export const followAll = async (parts: Parts, reading: Reading, { from }: AllSource): Promise<Status | undefined> => {
  const { call, response, request } = reading;
  const { log } = parts;
  const [start, behind] = from === 'start' ? [-1] : from === 'end' ? [log.end() - 1] : startOf(parts, from);
  if (start === undefined) return unknown('Unexpected ReadAllResult: Error');
  response.add(confirmation(randomUUID()));
  const { filter } = request;
  const reached = progress(filter?.interval ?? Number.POSITIVE_INFINITY, start);
  let position = start >= log.end() - 1 ? log.end() : (behind ?? Math.max(0, start));
  let live = false;
  const add = (frame: Buffer | undefined) => frame && response.add(frame);
  const take = (bytes: Buffer) => {
    for (let at = 0; at < bytes.length; at += sizeAt(bytes, at)) {
      if (positionAt(bytes, at) <= start) continue;
      if (isRequested(request, bytes, at)) response.event(bytes, at);
      if (filter) add(reached.consider(positionAt(bytes, at)));
    }
  };
  const atLiveEnd = () => {
    if (live) return;
    live = true;
    if (filter) add(reached.tell());
    response.add(caughtUp);
  };
  while (!call.isClosed()) {
    const { bytes, next } = position < log.end() ? log.intactPage(position) : { bytes: Buffer.alloc(0), next: position };
    take(bytes);
    position = next;
    if (position < log.end()) {
      if (live && response.flush()) continue;
      await yieldToOthers(reading);
      continue;
    }
    atLiveEnd();
    if (!response.flush()) await call.drained();
    if (position >= log.end()) await parts.signals.waitForAppend(call);
  }
  return undefined;
};
