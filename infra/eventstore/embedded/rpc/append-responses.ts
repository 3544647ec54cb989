import { ANY, NO_STREAM, STREAM_EXISTS } from '../append-decision.ts';
import { bytesField, framedMessage, messageField, textField, uintField, type Wide } from '../encoding/protobuf.ts';

const empty = Buffer.alloc(0);
const emptyField = (field: number): Buffer => bytesField(field, empty);

const positionMessage = (field: number, position: number): Buffer => messageField(field, uintField(1, position), uintField(2, position));

const successOf = (revision: number, position: number | undefined): Buffer[] => [
  revision < 0 ? emptyField(2) : uintField(1, revision),
  position === undefined ? emptyField(4) : positionMessage(3, position),
];

type Kinds = { revision: number; noStream: number; any: number; exists: number };

const expectation = (expected: Wide, { revision, noStream, any, exists }: Kinds): Buffer => {
  if (expected === ANY) return emptyField(any);
  if (expected === STREAM_EXISTS) return emptyField(exists);
  return expected === NO_STREAM ? emptyField(noStream) : uintField(revision, expected);
};

export const appended = (revision: number, position: number | undefined): Buffer =>
  framedMessage(messageField(1, ...successOf(revision, position)));

/** The stream is not at the expected revision. The call itself ends without an error. */
export const wrongVersion = (expected: Wide, current: number): Buffer =>
  framedMessage(
    messageField(
      2,
      current < 0 ? emptyField(7) : uintField(6, current),
      expectation(expected, { revision: 8, any: 9, exists: 10, noStream: 11 }),
    ),
  );

export const removed = (position: number | undefined): Buffer =>
  framedMessage(position === undefined ? emptyField(2) : positionMessage(1, position));

type BatchReference = { correlation: Buffer; identifier: Buffer };

const batchResponse = ({ correlation, identifier }: BatchReference, result: Buffer): Buffer =>
  framedMessage(bytesField(1, correlation), result, bytesField(4, identifier));

export const batchAppended = (reference: BatchReference, revision: number, position: number | undefined): Buffer =>
  batchResponse(reference, messageField(3, ...successOf(revision, position)));

const batchError = (reference: BatchReference, code: number, type: string, detail: Buffer): Buffer =>
  batchResponse(
    reference,
    messageField(
      2,
      uintField(1, code),
      textField(2, type),
      messageField(3, textField(1, `type.googleapis.com/event_store.client.${type}`), bytesField(2, detail)),
    ),
  );

export const batchWrongVersion = (reference: BatchReference, expected: Wide, current: number): Buffer =>
  batchError(
    reference,
    6,
    'WrongExpectedVersion',
    Buffer.concat([
      current < 0 ? emptyField(2) : uintField(1, current),
      expectation(expected, { revision: 3, any: 4, exists: 5, noStream: 6 }),
    ]),
  );

/** A damaged record prevents the append. The client does not know this error type, so it shows `reason`. */
export const batchDamaged = (reference: BatchReference, reason: string): Buffer =>
  batchResponse(
    reference,
    messageField(
      2,
      uintField(1, 15),
      textField(2, reason),
      messageField(3, textField(1, 'type.googleapis.com/event_store.client.DataLoss')),
    ),
  );

/** EventStoreDB cannot accept requests yet. The client does not know this error type, so it shows `reason`. */
export const batchNotReady = (reference: BatchReference, reason: string): Buffer =>
  batchResponse(
    reference,
    messageField(
      2,
      uintField(1, 14),
      textField(2, `Server is not ready: ${reason}`),
      messageField(3, textField(1, 'type.googleapis.com/event_store.client.NotReady')),
    ),
  );

export const batchDeleted = (reference: BatchReference): Buffer =>
  batchError(reference, 5, 'StreamDeleted', bytesField(1, reference.identifier));
export const batchTimeout = (reference: BatchReference): Buffer => batchError(reference, 4, 'Timeout', empty);
export const batchUnknown = (reference: BatchReference): Buffer => batchError(reference, 2, 'Unknown', empty);
export const batchInvalidEvent = (reference: BatchReference, reason: string): Buffer =>
  batchError(reference, 3, 'BadRequest', textField(1, reason));
export const batchTooLarge = (reference: BatchReference, limit: number): Buffer =>
  batchError(reference, 3, 'MaximumAppendSizeExceeded', uintField(1, limit));

/** Confirms a subscription. The functions below encode the other responses to Read that contain no event. */
export const confirmation = (id: string): Buffer => framedMessage(messageField(2, textField(1, id)));
export const checkpoint = (position: number): Buffer => framedMessage(positionMessage(3, position));
export const streamNotFound = (identifier: Buffer): Buffer => framedMessage(messageField(4, bytesField(1, identifier)));
export const caughtUp = framedMessage(emptyField(8));
