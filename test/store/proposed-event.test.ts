// share
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { bytesField, messageField, type Span, textField, uintField, viewOf } from '../../infra/eventstore/embedded/encoding/protobuf.ts';
import {
  flagsAt,
  frameAt,
  isIntactAt,
  JSON_DATA,
  maxRecordSize,
  nameAt,
  type ProposedEvent,
  typeAt,
  writeRecord,
} from '../../infra/eventstore/embedded/log/record.ts';
import { batchPartOf } from '../../infra/eventstore/embedded/rpc/append-requests.ts';
import { openShare } from '../fixtures/share.ts';

const entry = (key: string, value: string): Buffer => messageField(2, textField(1, key), textField(2, value));

/** Encodes a BatchAppendReq message in the same way as the client, but without options. */
const batch = (...events: { id: string; type: string; data: string; custom: string }[]): Buffer =>
  Buffer.concat([
    bytesField(1, messageField(2, textField(1, randomUUID()))),
    ...events.map(({ id, type, data, custom }) =>
      messageField(
        3,
        messageField(1, textField(2, id)),
        entry('content-type', 'application/json'),
        entry('type', type),
        textField(3, custom),
        textField(4, data),
      ),
    ),
    uintField(4, 1),
  ]);

const one = { id: randomUUID(), type: 'happened', data: `{"text":"${'x'.repeat(100)}"}`, custom: '{"by":"me"}' };
const two = { id: randomUUID(), type: '$>', data: '0@elsewhere', custom: '' };

const written = (event: ProposedEvent): Buffer => {
  const stream = Buffer.from('stream');
  const record = Buffer.alloc(maxRecordSize(event, stream.length));
  const flags = event.json ? JSON_DATA : 0;
  return record.subarray(0, writeRecord(record, 0, event, { stream, revision: 3, position: 1_000, created: 1, batchStart: 0, flags }));
};

const textOf = (span: Span): string => viewOf(span).toString();

test('the record of an event from a BatchAppend message contains all fields of the event', () => {
  const { events, final, rejection } = batchPartOf(batch(one, two));
  assert.equal([final, rejection], [true, undefined]);
  assert.equal(
    events.map(({ id, type, data, custom }) => ({ id: textOf(id), type: textOf(type), data: textOf(data), custom: textOf(custom) })),
    [one, two],
  );
  const record = written(events[0]!);
  assert.ok(isIntactAt(record, 0, 1_000));
  assert.equal([nameAt(record, 0).toString(), typeAt(record, 0).toString(), flagsAt(record, 0)], ['stream', 'happened', JSON_DATA]);
  for (const part of Object.values(one)) assert.ok(frameAt(record, 0).includes(part), part);
});

const share = openShare();

share.test('parsing a malformed message never reads bytes outside the message', () => {
  const good = batch(one, two);
  const changedBytes = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(changedBytes, fc.nat(good.length), (changes, length) => {
      const bad = Buffer.from(good);
      for (const [at, byte] of changes) bad[at] = byte;
      let events: ProposedEvent[];
      try {
        ({ events } = batchPartOf(bad.subarray(0, length)));
      } catch (error) {
        return error instanceof RangeError;
      }
      return events.every((event) => {
        const inside = [event.id, event.type, event.data, event.custom].every((span) => span.at + span.length <= span.bytes.length);
        return inside && isIntactAt(written(event), 0, 1_000);
      });
    }),
    share.runsOf(20_000),
  );
});

test.run();
