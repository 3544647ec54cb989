import type { AppendRequest, AppendResult } from '../append-decision.ts';
import { type Call, type Receiver, unary } from '../grpc.ts';
import {
  badRequest,
  dataLoss,
  deadlineExceeded,
  handlerFailure,
  maximumAppendSize,
  type Status,
  streamDeleted,
  unavailable,
  wrongExpectedVersion,
} from '../grpc-status.ts';
import type { ProposedEvent } from '../log/record.ts';
import type { Writer } from '../writer.ts';
import { exceededLimit, sizeOf } from './append-limits.ts';
import { appendPartOf, removalTargetOf, type Target } from './append-requests.ts';
import { appended, removed, wrongVersion } from './append-responses.ts';
import { InvalidEvent } from './proposed-event.ts';

const failureStatus = (target: Target, result: Exclude<AppendResult, { kind: 'done' }>): Status => {
  if (result.kind === 'late') return deadlineExceeded;
  if (result.kind === 'deleted') return streamDeleted(target.name);
  if (result.kind === 'damaged') return dataLoss(result.reason);
  return result.kind === 'wrong' ? wrongExpectedVersion(target.name, target.expected, result.current) : unavailable(result.reason);
};

/** The first message names the stream, and each further one holds one event. The call gets one response. */
export const appendMethod =
  (writer: Writer) =>
  (call: Call): Receiver => {
    let target: Target | undefined;
    let size = sizeOf([]);
    const events: ProposedEvent[] = [];
    const respond = (to: Target, result: AppendResult) => {
      if (result.kind === 'done') call.send(appended(result.revision, result.position));
      else if (result.kind === 'wrong') call.send(wrongVersion(to.expected, result.current));
      else return call.end(failureStatus(to, result));
      call.end();
    };
    const receive = (bytes: Buffer) => {
      const part = appendPartOf(bytes);
      if ('target' in part) target = part.target;
      else {
        events.push(part.event);
        size = sizeOf([part.event], size);
        const limit = exceededLimit(size);
        if (limit) call.end(maximumAppendSize(limit));
      }
    };
    return {
      message: (bytes) => {
        if (call.isClosed()) return;
        try {
          receive(bytes);
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
          respond: (result) => respond(to, result),
        });
      },
    };
  };

/** Creates the handler of Streams.Delete or Streams.Tombstone, depending on `kind`. */
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
          if (result.kind !== 'done') return call.end(failureStatus(to, result));
          call.send(removed(result.position));
          call.end();
        },
      });
    });
