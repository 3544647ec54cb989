import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createIntegration, deliver, startConsole } from '../fixtures/console-platform.ts';

const p = await startConsole();
const agent = await createAgent(p, 'Reviewer');
const page = `${p.base}/agents/${agent}`;
const [{ position: created }] = (await p.send('GET', `${p.tenant}/agents/${agent}/history`)).body as [{ position: string }];

test('a page that has no past says so, and leads to the present', async () => {
  await deliver(p, await createIntegration(p, agent), 'push', {});
  await p.waitForProjections();
  for (const path of ['/deliveries', '/deliveries/problems']) {
    const { status, text } = await p.open(`${p.base}${path}?period=all&as_of=${created}`);
    assert.is(status, 200, path);
    assert.match(text, /class="frame past"[\s\S]+(?:Deliveries|Problems) have no past/);
    assert.not.match(text, /data-kind="delivery|last 24 hours|As it is now/);
    const [, link] = text.match(/<a [^>]*href="([^"]*)"[^>]*>Show the present/) ?? [];
    assert.is(link, `${p.base}${path}?period=all`);
  }
  const missing = await p.open(`${page}?as_of=2020-01-01T00:00:00Z`);
  assert.match(missing.text, new RegExp(`<a [^>]*href="${page}"[^>]*>Show the present`));
});

test('lists at a past time have neither numbers of the present nor a search', async () => {
  const agents = (await p.open(`${p.base}/agents?as_of=${created}`)).text;
  assert.match(agents, /<th[^>]*>Agent/);
  assert.not.match(agents, /<th[^>]*>(?:<a[^>]*>)?(?:Runner|Queue|Budget|Cost)|type="search"/);
  const overview = (await p.open(`${p.base}?as_of=${created}`)).text;
  assert.match(overview, /Latest changes by people/);
  assert.not.match(overview, /Latest deliveries|data-kind="delivery"/);
});

afterLastTest(() => p.close());

test.run();
