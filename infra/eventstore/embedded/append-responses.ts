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

/** Append's answers; a wrong version is one of them. */
export const appended = (revision: number, position: number | undefined): Buffer => framed(message(1, ...successOf(revision, position)));

export const wrongVersion = (expected: Wide, current: number): Buffer =>
  framed(message(2, current < 0 ? marker(7) : uint(6, current), expectation(expected, { revision: 8, any: 9, exists: 10, noStream: 11 })));

/** Delete's and Tombstone's. */
export const removed = (position: number | undefined): Buffer => framed(position === undefined ? marker(2) : positionMessage(1, position));

type About = { correlation: Buffer; identifier: Buffer };

const batchAnswer = ({ correlation, identifier }: About, result: Buffer): Buffer =>
  framed(bytes(1, correlation), result, bytes(4, identifier));

export const batchAppended = (about: About, revision: number, position: number | undefined): Buffer =>
  batchAnswer(about, message(3, ...successOf(revision, position)));

const batchError = (about: About, code: number, type: string, detail: Buffer): Buffer =>
  batchAnswer(
    about,
    message(2, uint(1, code), text(2, type), message(3, text(1, `type.googleapis.com/event_store.client.${type}`), bytes(2, detail))),
  );

export const batchWrongVersion = (about: About, expected: Wide, current: number): Buffer =>
  batchError(
    about,
    6,
    'WrongExpectedVersion',
    Buffer.concat([current < 0 ? marker(2) : uint(1, current), expectation(expected, { revision: 3, any: 4, exists: 5, noStream: 6 })]),
  );

/** The client knows no such error by type, and shows its message. */
export const batchDamaged = (about: About, reason: string): Buffer =>
  batchAnswer(about, message(2, uint(1, 15), text(2, reason), message(3, text(1, 'type.googleapis.com/event_store.client.DataLoss'))));

/** As a real node says that it can't take anything for now: the client shows the message of what it doesn't know by type. */
export const batchNotReady = (about: About, reason: string): Buffer =>
  batchAnswer(
    about,
    message(
      2,
      uint(1, 14),
      text(2, `Server is not ready: ${reason}`),
      message(3, text(1, 'type.googleapis.com/event_store.client.NotReady')),
    ),
  );

export const batchDeleted = (about: About): Buffer => batchError(about, 5, 'StreamDeleted', bytes(1, about.identifier));
export const batchTimeout = (about: About): Buffer => batchError(about, 4, 'Timeout', empty);
export const batchUnknown = (about: About): Buffer => batchError(about, 2, 'Unknown', empty);
export const batchInvalidEvent = (about: About, reason: string): Buffer => batchError(about, 3, 'BadRequest', text(1, reason));
export const batchTooLarge = (about: About, limit: number): Buffer => batchError(about, 3, 'MaximumAppendSizeExceeded', uint(1, limit));

/** Read's answers that are no events. */
export const confirmation = (id: string): Buffer => framed(message(2, text(1, id)));
export const checkpoint = (position: number): Buffer => framed(positionMessage(3, position));
export const streamNotFound = (identifier: Buffer): Buffer => framed(message(4, bytes(1, identifier)));
export const caughtUp = framed(marker(8));
