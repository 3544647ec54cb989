import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createSessionPlatform, errorCode, type Json } from '../fixtures/session-platform.ts';

const p = await createSessionPlatform();

const setPatterns = async (patterns: readonly object[]): Promise<void> => {
  const { status, text } = await p.send('PUT', `${p.tenant}/redaction-patterns`, { body: patterns });
  assert.is(status, 200, text);
};

test("in a message of any sender to a session, matches of the tenant's redaction patterns are replaced before the message is stored", async () => {
  await setPatterns([{ pattern: 'CUST-[0-9]{6}', tag: 'customer' }]);
  const session = await p.startSession();
  const sent = await p.append(session, { content: 'Order of CUST-123456 and CUST-654321' });
  assert.is((sent.body as Json).content, 'Order of [redacted:customer] and [redacted:customer]');
  const own = await p.startSession({}, p.key);
  const asked = await p.append(own, { role: 'user', content: 'I am CUST-111111' }, p.key);
  assert.equal([asked.status, (asked.body as Json).content], [201, 'I am [redacted:customer]']);
  const { text } = await p.send('GET', session);
  assert.is(text.split('[redacted:customer]').length, 3);
  assert.not.match(text, /CUST-/);
});

test('without redaction patterns, a message is stored unchanged; if applying the patterns takes too long, the request gets 422 and nothing is stored', async () => {
  await setPatterns([]);
  const session = await p.startSession();
  assert.is(((await p.append(session, { content: 'CUST-123456' })).body as Json).content, 'CUST-123456');
  await setPatterns([{ pattern: '([a-z]{1,30}-){1,30}[0-9]{1,30}', tag: 'slow' }]);
  const before = p.eventsOf('MessageAppended').length;
  const slow = await p.append(session, { content: 'a-'.repeat(100_000) });
  assert.equal([slow.status, errorCode(slow)], [422, 'too_complex']);
  assert.is(p.eventsOf('MessageAppended').length, before);
});

for (const how of ['complete', 'fail', 'cancel'])
  for (const field of ['summary', 'error'])
    test(`${how} by a runner ends its session even if the patterns are too slow for its ${field}`, async () => {
      await setPatterns([{ pattern: '([a-z]{1,30}-){1,30}[0-9]{1,30}', tag: 'slow' }]);
      const session = await p.startSession();
      const slow = { [field]: 'a-'.repeat(8_000) };
      if (how === 'cancel') assert.equal(errorCode(await p.end(session, how, slow, p.key)), 'too_complex');
      const ended = await p.end(session, how, slow);
      assert.is(ended.status, 200, ended.text);
      const instead = `the redaction patterns of the tenant are too slow for the ${field}`;
      assert.equal([(ended.body as Json)[field], ((await p.read(session)).session as Json)[field]], [instead, instead]);
      const again = await p.end(session, how, slow);
      assert.is(again.status, 200, 'a repeat changes nothing');
    });

afterLastTest(() => p.close());

test.run();
