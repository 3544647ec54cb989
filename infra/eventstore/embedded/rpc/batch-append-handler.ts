import type { AppendResult } from '../append-decision.ts';
import type { Call, Receiver } from '../grpc.ts';
import type { ProposedEvent } from '../log/record.ts';
import type { Writer } from '../writer.ts';
import { exceededLimit, exceededUnfinishedLimit, type Size, sizeOf } from './append-limits.ts';
import { type BatchPart, batchPartOf } from './append-requests.ts';
import {
  batchAppended,
  batchDamaged,
  batchDeleted,
  batchInvalidEvent,
  batchNotReady,
  batchTimeout,
  batchTooLarge,
  batchUnknown,
  batchWrongVersion,
} from './append-responses.ts';

/** `part` is the one received last. */
type OpenAppend = { part: BatchPart; options: NonNullable<BatchPart['options']>; events: ProposedEvent[]; size: Size };

const referenceOf = ({ part: { correlation }, options: { identifier } }: OpenAppend) => ({ correlation, identifier });

const responseTo = (open: OpenAppend, result: AppendResult): Buffer => {
  const reference = referenceOf(open);
  if (result.kind === 'done') return batchAppended(reference, result.revision, result.position);
  if (result.kind === 'wrong') return batchWrongVersion(reference, open.options.expected, result.current);
  if (result.kind === 'deleted') return batchDeleted(reference);
  if (result.kind === 'damaged') return batchDamaged(reference, result.reason);
  return result.kind === 'late' ? batchTimeout(reference) : batchNotReady(reference, result.reason);
};

/** Undefined if the append is accepted. `unfinishedBytes` is the size of all unfinished appends of the call. */
const rejectionOf = (open: OpenAppend, unfinishedBytes: number): Buffer | undefined => {
  const reference = referenceOf(open);
  if (open.part.rejection !== undefined) return batchInvalidEvent(reference, open.part.rejection);
  if (open.options.name === '') return batchUnknown(reference);
  const limit = exceededLimit(open.size) ?? (open.part.final ? undefined : exceededUnfinishedLimit(unfinishedBytes));
  return limit ? batchTooLarge(reference, limit) : undefined;
};

/** Sends the responses to the appends of one log batch with one write. */
const createResponseQueue = (writer: Writer, call: Call) => {
  let responses: Buffer[] = [];
  let pending = 0;
  let isEnding = false;
  const send = () => {
    const queued = responses;
    responses = [];
    if (queued.length > 0) call.send(queued.length === 1 ? queued[0]! : Buffer.concat(queued));
    if (isEnding && pending === 0) call.end();
  };
  const add = (response: Buffer) => {
    if (responses.push(response) === 1) writer.afterBatch(send);
  };
  return {
    /** Sends the response with those to pending appends of this call; at once if there are none. */
    reject: (response: Buffer) => {
      add(response);
      if (pending === 0) send();
    },
    expect: () => {
      pending++;
    },
    respond: (response: Buffer) => {
      pending--;
      add(response);
    },
    end: () => {
      isEnding = true;
      if (pending === 0) send();
    },
  };
};

/** One call carries many appends, each with one or more messages and one response. */
export const batchAppendMethod =
  (writer: Writer) =>
  (call: Call): Receiver => {
    const unfinished = new Map<string, OpenAppend>();
    const responses = createResponseQueue(writer, call);
    let unfinishedBytes = 0;

    const submit = (open: OpenAppend) => {
      responses.expect();
      const { name, expected, deadline } = open.options;
      writer.submit({
        request: { kind: 'append', stream: name, expected, events: open.events },
        deadline,
        respond: (result) => responses.respond(responseTo(open, result)),
      });
    };

    const collect = (part: BatchPart): OpenAppend | undefined => {
      if (part.options) return { part, options: part.options, events: part.events, size: sizeOf(part.events) };
      const open = unfinished.get(part.correlation.toString('latin1'));
      if (!open) return undefined;
      for (const event of part.events) open.events.push(event);
      return { ...open, part, size: sizeOf(part.events, open.size) };
    };

    return {
      message: (bytes) => {
        const part = batchPartOf(bytes);
        const open = collect(part);
        if (!open) return;
        const key = part.final && part.options ? '' : part.correlation.toString('latin1');
        const rejection = rejectionOf(open, unfinishedBytes);
        unfinishedBytes -= unfinished.get(key)?.size.total ?? 0;
        unfinished.delete(key);
        if (rejection) responses.reject(rejection);
        else if (part.final) submit(open);
        else {
          unfinished.set(key, open);
          unfinishedBytes += open.size.total;
        }
      },
      end: responses.end,
    };
  };
