import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { outgoingMessage } from '../../commands/runners/relay.reactor.ts';
import { factsOf } from '../../domain/deliveries/delivery.ts';
import { traceParent } from '../../domain/deliveries/trace-context.ts';
import { createWebhookPlatform } from '../fixtures/webhook-platform.ts';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

test('a valid traceparent of a delivery is stored, that of a later version as version 00; an invalid traceparent is ignored', () => {
  assert.is(traceParent(TRACE), TRACE);
  assert.is(traceParent(`cc${TRACE.slice(2)}-what-comes-later`), TRACE);
  const wrong = [
    undefined,
    '',
    TRACE.toUpperCase(),
    `${TRACE}-more`,
    `ff${TRACE.slice(2)}`,
    `cc${TRACE.slice(2)}more`,
    `${TRACE}, ${TRACE}`,
    ` ${TRACE}`,
    TRACE.replace('0af7651916cd43dd8448eb211c80319c', '0'.repeat(32)),
    TRACE.replace('b7ad6b7169203331', '0'.repeat(16)),
  ];
  for (const header of wrong) assert.is(traceParent(header), undefined, String(header));
});

test('the traceparent of a delivery is in the metadata of the event, in the CloudEvent and in the header of the message', async () => {
  const given = await createWebhookPlatform();
  await given.deliver('{"n":1}', { traceparent: TRACE, 'x-github-delivery': '1' });
  await given.deliver('{"n":2}', { traceparent: 'nonsense', 'x-github-delivery': '2' });
  const [traced, untraced] = given.accepted();
  assert.equal([factsOf(traced!).traceparent, 'traceparent' in factsOf(untraced!)], [TRACE, false]);
  const message = outgoingMessage(await given.vault.openEvent(traced!), 'https://annals.test', 65_536);
  const { traceparent } = JSON.parse(Buffer.from(message.payload).toString()) as Record<string, unknown>;
  assert.equal([message.traceparent, traceparent], [TRACE, TRACE]);
  assert.is('traceparent' in outgoingMessage(await given.vault.openEvent(untraced!), 'https://annals.test', 65_536), false);
  await given.close();
});

test.run();
