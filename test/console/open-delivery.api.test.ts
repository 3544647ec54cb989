import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createIntegration, deliver, findDelivery, startConsole } from '../fixtures/console-platform.ts';

const p = await startConsole();
const integration = await createIntegration(p, await createAgent(p, 'Reviewer'));
await deliver(p, integration, "pu'sh", { zen: 'Keep it logically awesome.' });
await deliver(p, integration, 'issues', { forged: 'never stored' }, { signature: 'sha256=forged' });
const [accepted, rejected] = [await findDelivery(p, 'accepted'), await findDelivery(p, 'rejected')];

const pageOf = async (path: string): Promise<string> => {
  const answer = await p.open(`${p.base}${path}`);
  assert.is(answer.status, 200, answer.text.slice(0, 300));
  return answer.text;
};

test('the delivery that the query names is beside the list, with what its page says, and leads to its page and back', async () => {
  const html = await pageOf(`/deliveries?state=rejected&open=${accepted}&tab=facts`);
  assert.match(html, new RegExp(`<tr data-kind="delivery" data-id="${rejected}"`));
  const beside = /<aside class="beside"[\s\S]*?<\/aside>/.exec(html)?.[0] ?? '';
  assert.match(beside, new RegExp(`data-open="${accepted}"[\\s\\S]*href="${p.base}/deliveries/${accepted}"[\\s\\S]*data-hotkey="Escape"`));
  assert.match(beside, new RegExp(`href="${p.base}/deliveries\\?state=rejected" data-close`));
  assert.match(beside, /<h2><span>pu[\s\S]*Attempts[\s\S]*aria-current="page"[^>]*>Facts</);
  assert.is(html.match(/<h1/g)?.length, 1);
  for (const unknown of [`c${'0'.repeat(24)}`, 'not/an id'])
    assert.match(await pageOf(`/deliveries?open=${encodeURIComponent(unknown)}`), /<aside class="beside"[\s\S]*data-problem/);
});

afterLastTest(() => p.close());

test.run();
