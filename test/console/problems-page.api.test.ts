import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Publication from '../../domain/runners/publication.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createIntegration, deliver, startConsole } from '../fixtures/console-platform.ts';

const p = await startConsole();

test('Problems names the agents for which deliveries are queued although no runner is connected, with their number', async () => {
  const stuck = await createAgent(p, 'Stuck');
  const hook = await createIntegration(p, stuck);
  for (const n of [1, 2]) await deliver(p, hook, 'push', { stuck: n });
  const { position } = p.eventsOf('WebhookAccepted').at(-1)!;
  await p.systemContext('platform').transact(Publication, Publication.STREAM_ID, Publication.recordPublished(position));
  await p.waitForProjections();
  const line =
    /data-kind="delivery-problem" data-id="stuck-(\w+)"[\s\S]*?href="([^"]*)"[\s\S]*?>Waits, no runner is connected<[\s\S]*?<td [^>]*data-label="Count">(\d+)</g;
  const found = [...(await p.open(`${p.base}/deliveries/problems`)).text.matchAll(line)].find(([, agent_id]) => agent_id === stuck)!;
  assert.is(found[3], '2');
  const { text } = await p.open(found[2]!.replaceAll('&amp;', '&'));
  assert.is(text.match(/data-kind="delivery"/g)?.length, 2);
});

afterLastTest(() => p.close());

test.run();
