import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { bytesField, cursorOf, readVarint, skipField, uintField } from '../../infra/eventstore/embedded/encoding/protobuf.ts';

test('the parser skips an unknown length-delimited field and reads the field after it', () => {
  for (const size of [0, 3, 127, 128, 20_000]) {
    const message = Buffer.concat([bytesField(9, Buffer.alloc(size, 1)), uintField(2, 7)]);
    const cursor = cursorOf(message);
    skipField(cursor, Number(readVarint(cursor)) & 7);
    assert.is(Number(readVarint(cursor)) >>> 3, 2, `${size} bytes`);
    assert.is(Number(readVarint(cursor)), 7);
  }
});

test.run();
