import type { AppendRequest, Outcome } from './append-decision.ts';
import { appendPartOf, type BatchPart, batchPartOf, removalTargetOf, type Target } from './append-requests.ts';
import {
  appended,
  batchAppended,
  batchDamaged,
  batchDeleted,
  batchInvalidEvent,
  batchNotReady,
  batchTimeout,
  batchTooLarge,
  batchUnknown,
  batchWrongVersion,
  removed,
  wrongVersion,
} from './append-responses.ts';
import { type Call, type Receiver, unary } from './grpc.ts';
import {
  badRequest,
  dataLoss,
  deadlineExceeded,
  maximumAppendSize,
  type Status,
  streamDeleted,
  unavailable,
  unknown,
  wrongExpectedVersion,
} from './grpc-status.ts';
import { InvalidEvent } from './proposed-event.ts';
import type { ProposedEvent } from './record.ts';
import type { Writer } from './writer.ts';

/** Bytes of data in one append; types and metadata do not count. */
const MAX_APPEND = 1024 * 1024;

/** All of one append, and all that a caller has begun and not ended: so much is held of him, and written at once. */
const MAX_WHOLE = 16 * 1024 * 1024;
const MAX_BEGUN = 4 * MAX_WHOLE;
const EVENT = 100;

/** Bytes of data; bytes of everything. */
type Size = { data: number; whole: number };

const sizeOf = (events: ProposedEvent[], from: Size = { data: 0, whole: 0 }): Size => {
  let { data, whole } = from;
  for (const event of events) {
    data += event.data.length;
    whole += event.data.length + event.custom.length + event.type.length + EVENT;
  }
  return { data, whole };
};

/** The limit that is passed, if one is. */
const passed = ({ data, whole }: Size): number | undefined => {
  if (data > MAX_APPEND) return MAX_APPEND;
  return whole > MAX_WHOLE ? MAX_WHOLE : undefined;
};

type Result = Outcome | { kind: 'late' };

const refusal = (target: Target, result: Exclude<Result, { kind: 'done' }>): Status => {
  if (result.kind === 'late') return deadlineExceeded;
  if (result.kind === 'deleted') return streamDeleted(target.name);
  if (result.kind === 'damaged') return dataLoss(result.reason);
  return result.kind === 'wrong' ? wrongExpectedVersion(target.name, target.expected, result.current) : unavailable(result.reason);
};

const handlerFailure: Status = unknown('Exception was thrown by handler.');

/** Streams.Append: the target, an event per message, and one answer. */
export const appendMethod =
  (writer: Writer) =>
  (call: Call): Receiver => {
    let target: Target | undefined;
    let size = sizeOf([]);
    const events: ProposedEvent[] = [];
    const answer = (to: Target, result: Result) => {
      if (result.kind === 'done') call.send(appended(result.revision, result.position));
      else if (result.kind === 'wrong') call.send(wrongVersion(to.expected, result.current));
      else return call.end(refusal(to, result));
      call.end();
    };
    const take = (bytes: Buffer) => {
      const part = appendPartOf(bytes);
      if ('target' in part) target = part.target;
      else {
        events.push(part.event);
        size = sizeOf([part.event], size);
        const limit = passed(size);
        if (limit) call.end(maximumAppendSize(limit));
      }
    };
    return {
      message: (bytes) => {
        if (call.isClosed()) return;
        try {
          take(bytes);
        } catch (error) {
          if (!(error instanceof InvalidEvent)) throw error;
          call.end(badRequest(error.message));
        }
      },
      end: () => {
        if (call.isClosed()) return;
        const to = target;
        if (!to || to.name === '') return call.end(handlerFailure);
        writer.submit({
          request: { kind: 'append', stream: to.name, expected: to.expected, events },
          deadline: call.deadline,
          respond: (result) => answer(to, result),
        });
      },
    };
  };

/** Streams.Delete and Streams.Tombstone. */
export const removeMethod =
  (writer: Writer, kind: 'delete' | 'tombstone') =>
  (call: Call): Receiver =>
    unary(call, (bytes) => {
      const to = removalTargetOf(bytes);
      if (to.name === '') return call.end(handlerFailure);
      const request: AppendRequest = { kind, stream: to.name, expected: to.expected, events: [] };
      writer.submit({
        request,
        deadline: call.deadline,
        respond: (result) => {
          if (result.kind !== 'done') return call.end(refusal(to, result));
          call.send(removed(result.position));
          call.end();
        },
      });
    });

type Open = { part: BatchPart; options: NonNullable<BatchPart['options']>; events: ProposedEvent[]; size: Size };

const batchResult = ({ part: { correlation }, options }: Open, result: Result): Buffer => {
  const about = { correlation, identifier: options.identifier };
  if (result.kind === 'done') return batchAppended(about, result.revision, result.position);
  if (result.kind === 'wrong') return batchWrongVersion(about, options.expected, result.current);
  if (result.kind === 'deleted') return batchDeleted(about);
  if (result.kind === 'damaged') return batchDamaged(about, result.reason);
  return result.kind === 'late' ? batchTimeout(about) : batchNotReady(about, result.reason);
};

/** Streams.BatchAppend: many appends on one stream of messages, each in one or several parts, each answered once. */
export const batchAppendMethod =
  (writer: Writer) =>
  (call: Call): Receiver => {
    const unfinished = new Map<string, Open>();
    let answers: Buffer[] = [];
    let waiting = 0;
    let begun = 0;
    let ended = false;

    const send = () => {
      const all = answers;
      answers = [];
      if (all.length > 0) call.send(all.length === 1 ? all[0]! : Buffer.concat(all));
      if (ended && waiting === 0) call.end();
    };
    const answer = (bytes: Buffer) => {
      if (answers.push(bytes) === 1) writer.afterBatch(send);
    };
    const refuse = (open: Open): Buffer | undefined => {
      const about = { correlation: open.part.correlation, identifier: open.options.identifier };
      if (open.part.refused !== undefined) return batchInvalidEvent(about, open.part.refused);
      if (open.options.name === '') return batchUnknown(about);
      const limit = passed(open.size) ?? (!open.part.final && begun > MAX_BEGUN ? MAX_BEGUN : undefined);
      return limit ? batchTooLarge(about, limit) : undefined;
    };
    const submit = (open: Open) => {
      waiting++;
      const { name, expected, deadline } = open.options;
      const done = (result: Result) => {
        waiting--;
        answer(batchResult(open, result));
      };
      writer.submit({ request: { kind: 'append', stream: name, expected, events: open.events }, deadline, respond: done });
    };

    const begin = (part: BatchPart): Open | undefined => {
      if (part.options) return { part, options: part.options, events: part.events, size: sizeOf(part.events) };
      const known = unfinished.get(part.correlation.toString('latin1'));
      if (!known) return undefined;
      for (const event of part.events) known.events.push(event);
      return { ...known, part, size: sizeOf(part.events, known.size) };
    };

    return {
      message: (bytes) => {
        const part = batchPartOf(bytes);
        const open = begin(part);
        if (!open) return;
        const key = part.final && part.options ? '' : part.correlation.toString('latin1');
        const refused = refuse(open);
        begun -= unfinished.get(key)?.size.whole ?? 0;
        unfinished.delete(key);
        if (refused) {
          answer(refused);
          if (waiting === 0) send();
        } else if (part.final) submit(open);
        else {
          unfinished.set(key, open);
          begun += open.size.whole;
        }
      },
      end: () => {
        ended = true;
        if (waiting === 0) send();
      },
    };
  };
