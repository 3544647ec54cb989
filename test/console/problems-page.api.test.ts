import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';
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

test('Problems says that deliveries were given up by an agent, also while its name is missing', async () => {
  const unnamed = await createAgent(p, 'Unnamed');
  await deliver(p, await createIntegration(p, unnamed), 'push', { hopeless: true });
  const { id, event_id, at } = p.eventsOf('WebhookAccepted').at(-1)!;
  const notice = { delivery_id: id, event_id, at, attempts: 1, sequence: 1, outcome: 'max_deliveries' } as const;
  await p.systemContext(p.tenant_id).transact(Acknowledgement, unnamed, Acknowledgement.recordAdvisories('one', [notice]));
  await p.waitForProjections();
  const whereOf = async () => {
    const { text } = await p.open(`${p.base}/deliveries/problems`);
    return text.match(/data-state="dead"[\s\S]*?<td [^>]*data-label="Where">([^<]*)</)?.[1];
  };
  assert.is(await whereOf(), 'Unnamed');
  // A rebuild of the read model of agents begins without them.
  await p.readModelPool.query('delete from agents.agents where id = $1', [unnamed]);
  assert.is(await whereOf(), 'an agent');
});

afterLastTest(() => p.close());

test.run();
