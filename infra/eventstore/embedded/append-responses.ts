import { ANY, NO_STREAM, STREAM_EXISTS } from './append-decision.ts';
import { bytes, framed, message, text, uint, type Wide } from './protobuf.ts';

const empty = Buffer.alloc(0);
const marker = (field: number): Buffer => bytes(field, empty);

const positionMessage = (field: number, position: number): Buffer => message(field, uint(1, position), uint(2, position));

const successOf = (revision: number, position: number | undefined): Buffer[] => [
  revision < 0 ? marker(2) : uint(1, revision),
  position === undefined ? marker(4) : positionMessage(3, position),
];

type Kinds = { revision: number; noStream: number; any: number; exists: number };

const expectation = (expected: Wide, { revision, noStream, any, exists }: Kinds): Buffer => {
  if (expected === ANY) return marker(any);
  if (expected === STREAM_EXISTS) return marker(exists);
  return expected === NO_STREAM ? marker(noStream) : uint(revision, expected);
};

/** The response to Append. */
export const appended = (revision: number, position: number | undefined): Buffer => framed(message(1, ...successOf(revision, position)));

/** The response to Append at another revision than the expected one: not an error of the call. */
export const wrongVersion = (expected: Wide, current: number): Buffer =>
  framed(message(2, current < 0 ? marker(7) : uint(6, current), expectation(expected, { revision: 8, any: 9, exists: 10, noStream: 11 })));

/** The response to Delete and Tombstone. */
export const removed = (position: number | undefined): Buffer => framed(position === undefined ? marker(2) : positionMessage(1, position));

/** What a response repeats of its request. */
type BatchReference = { correlation: Buffer; identifier: Buffer };

const batchResponse = ({ correlation, identifier }: BatchReference, result: Buffer): Buffer =>
  framed(bytes(1, correlation), result, bytes(4, identifier));

export const batchAppended = (reference: BatchReference, revision: number, position: number | undefined): Buffer =>
  batchResponse(reference, message(3, ...successOf(revision, position)));

const batchError = (reference: BatchReference, code: number, type: string, detail: Buffer): Buffer =>
  batchResponse(
    reference,
    message(2, uint(1, code), text(2, type), message(3, text(1, `type.googleapis.com/event_store.client.${type}`), bytes(2, detail))),
  );

export const batchWrongVersion = (reference: BatchReference, expected: Wide, current: number): Buffer =>
  batchError(
    reference,
    6,
    'WrongExpectedVersion',
    Buffer.concat([current < 0 ? marker(2) : uint(1, current), expectation(expected, { revision: 3, any: 4, exists: 5, noStream: 6 })]),
  );

/** The client does not know this error type, so it shows the message. */
export const batchDamaged = (reference: BatchReference, reason: string): Buffer =>
  batchResponse(
    reference,
    message(2, uint(1, 15), text(2, reason), message(3, text(1, 'type.googleapis.com/event_store.client.DataLoss'))),
  );

/** A real node's answer while it cannot accept requests. The client does not know the type, so it shows the message. */
export const batchNotReady = (reference: BatchReference, reason: string): Buffer =>
  batchResponse(
    reference,
    message(
      2,
      uint(1, 14),
      text(2, `Server is not ready: ${reason}`),
      message(3, text(1, 'type.googleapis.com/event_store.client.NotReady')),
    ),
  );

export const batchDeleted = (reference: BatchReference): Buffer =>
  batchError(reference, 5, 'StreamDeleted', bytes(1, reference.identifier));
export const batchTimeout = (reference: BatchReference): Buffer => batchError(reference, 4, 'Timeout', empty);
export const batchUnknown = (reference: BatchReference): Buffer => batchError(reference, 2, 'Unknown', empty);
export const batchInvalidEvent = (reference: BatchReference, reason: string): Buffer =>
  batchError(reference, 3, 'BadRequest', text(1, reason));
export const batchTooLarge = (reference: BatchReference, limit: number): Buffer =>
  batchError(reference, 3, 'MaximumAppendSizeExceeded', uint(1, limit));

/** Responses to Read other than events. */
export const confirmation = (id: string): Buffer => framed(message(2, text(1, id)));
export const checkpoint = (position: number): Buffer => framed(positionMessage(3, position));
export const streamNotFound = (identifier: Buffer): Buffer => framed(message(4, bytes(1, identifier)));
export const caughtUp = framed(marker(8));
