import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readForm } from '../../api/http/multipart-body.ts';
import { Refusal } from '../../domain/refusal.ts';
import { parseForm } from '../../infra/http/parse-form.ts';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';

const MAX_BYTES = 1_000_000;
const OVERHEAD = 16_384;

type Sent = { readonly chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>; readonly length?: number };

const read = async ({ chunks, length }: Sent): Promise<Uint8Array | Refusal> => {
  const headers = { 'content-type': FORM_TYPE, ...(length === undefined ? {} : { 'content-length': String(length) }) };
  const request = new Request('http://annals.test/', {
    method: 'POST',
    headers,
    body: ReadableStream.from(chunks) as never,
    duplex: 'half',
  });
  try {
    return (await readForm(parseForm, request, { file: 'upload', maxBytes: MAX_BYTES })).bytes;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
};
const codeOf = (result: Uint8Array | Refusal): string | null => (result instanceof Refusal ? result.code : null);
const form = (content: string | Uint8Array): Buffer => formBody({ name: 'upload', filename: 'a', content });

test('a file of the maximum size is read, however its bytes are divided, with and without Content-Length', async () => {
  const content = Buffer.alloc(MAX_BYTES, 'annals');
  const body = form(content);
  const pieces = [body.subarray(0, 3), body.subarray(3, 70_000), body.subarray(70_000)];
  for (const sent of [{ chunks: [body], length: body.length }, { chunks: pieces }]) {
    const file = await read(sent);
    assert.ok(!(file instanceof Refusal) && Buffer.from(file).equals(content));
  }
});

test('a body without Content-Length is read only until the read bytes exceed the limit', async () => {
  let produced = 0;
  const endless = function* () {
    for (;;) {
      produced += 65_536;
      yield new Uint8Array(65_536);
    }
  };
  const refused = await read({ chunks: endless() });
  assert.equal([codeOf(refused), (refused as Refusal).extra.members], ['too_large', { limit: MAX_BYTES }]);
  assert.ok(produced <= MAX_BYTES + OVERHEAD + 4 * 65_536, `${produced} bytes were read`);
});

test('a body whose Content-Length is above the limit is refused before any of it is read', async () => {
  let produced = 0;
  const chunks = async function* () {
    await sleep(50);
    produced++;
    yield new Uint8Array(1);
  };
  assert.is(codeOf(await read({ chunks: chunks(), length: MAX_BYTES + OVERHEAD + 1 })), 'too_large');
  assert.is(produced, 0);
});

test('a body whose connection breaks is refused as malformed', async () => {
  const broken = async function* () {
    yield form('x').subarray(0, 20);
    throw new Error('ECONNRESET');
  };
  assert.is(codeOf(await read({ chunks: broken() })), 'malformed');
});

test('a body that arrives too slowly is refused after about ten seconds', async () => {
  const body = form('x'.repeat(1_000));
  const slow = async function* () {
    for (const byte of body) {
      yield Uint8Array.of(byte);
      await sleep(200);
    }
  };
  const start = performance.now();
  assert.is(codeOf(await read({ chunks: slow() })), 'too_slow');
  const seconds = (performance.now() - start) / 1_000;
  assert.ok(seconds > 9 && seconds < 20, `${seconds} s`);
});

test.run();
