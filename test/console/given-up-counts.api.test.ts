import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';
import { checkDeadDeliveries } from '../../infra/health/health-checks.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createIntegration, deliver, startConsole } from '../fixtures/console-platform.ts';

type Json = Record<string, unknown>;

const HOUR_MS = 3_600_000;
const p = await startConsole();
const at = (ago: number): void => {
  p.clock.now = () => Date.now() - ago;
};
const agent = await createAgent(p, 'Refund Assistant');
const hook = await createIntegration(p, agent, 'Storefront');

let sent = 0;
const receive = async (hours: number): Promise<string> => {
  at(hours * HOUR_MS);
  return (await deliver(p, hook, 'push', { n: ++sent })).id!;
};

let settled = 0;
/** Records that the newest messages of these deliveries were given up this many hours ago. */
const giveUp = async (hours: number, ...ids: string[]): Promise<void> => {
  at(0);
  const given_up_at = new Date(Date.now() - hours * HOUR_MS).toISOString();
  const notices = ids.map((delivery_id) => {
    const { event_id } = p.eventsOf('WebhookAccepted', 'DeliveryRequeued').findLast(({ id }) => id === delivery_id)!;
    return { delivery_id, event_id, at: given_up_at, attempts: 1, sequence: ++settled, outcome: 'max_deliveries' } as const;
  });
  await p.systemContext(p.tenant_id).transact(Acknowledgement, agent, Acknowledgement.recordAdvisories('one', notices));
};

// Three deliveries were given up in the last 24 hours; two of these were received before.
await giveUp(25, await receive(30), await receive(26));
await giveUp(1, await receive(40), await receive(30), await receive(2));
const [again] = [await receive(3)];
await giveUp(2, again);
await p.send('POST', `${p.tenant}/deliveries/${again}/redeliver`);
await p.waitForProjections();

const read = async (path: string): Promise<Json> => {
  const answer = await p.send('GET', `${p.tenant}/${path}`);
  assert.is(answer.status, 200, answer.text);
  return answer.body as Json;
};
const overview = (await read('overview')) as { figures: { failed: { value: number } }; attention: { kind: string; count: number }[] };
const page = async (path: string): Promise<string> => (await p.open(path)).text;
/** Returns the first link of a page that `pattern` matches. */
const linkIn = (text: string, pattern: RegExp): string => pattern.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? 'no link';
const listed = async (link: string): Promise<number> => (await page(link)).match(/<tr data-kind="delivery"/g)?.length ?? 0;
const overviewText = await page(p.base);

const COUNTS: Readonly<Record<string, () => Promise<unknown>>> = {
  'the navigation': async () => (await read('overview/counts')).dead_deliveries,
  'the figure of the overview': async () => overview.figures.failed.value,
  'what needs attention': async () =>
    overview.attention.filter(({ kind }) => kind === 'deliveries_dead').reduce((sum, { count }) => sum + count, 0),
  'the list of agents': async () => ((await read('agents/activity')) as unknown as Json[])[0]!.failed,
  'the page of the agent': async () => Number(/(\d+) deliveries given up in 24 h/.exec(await page(`${p.base}/agents/${agent}`))?.[1]),
  'the health of the platform': async () => (await checkDeadDeliveries(p.readModelPool as never)).figures!.dead_deliveries,
  'the list behind the figure': () => listed(linkIn(overviewText, /data-figure="failed"[\s\S]*?href="([^"]+)"/)),
  'the list behind what needs attention': () => listed(linkIn(overviewText, /data-attention="deliveries_dead"[\s\S]*?href="([^"]+)"/)),
  'the list behind the agent': async () => listed(linkIn(await page(`${p.base}/agents`), /href="([^"]+)"[^>]*data-failed/)),
  'the list behind the page of the agent': async () =>
    listed(linkIn(await page(`${p.base}/agents/${agent}`), /href="([^"]+)"[^>]*>3 deliveries given up/)),
  'a replay of those of the last 24 hours': async () => {
    const body = { outcome: 'dead', given_up_from: new Date(Date.now() - 24 * HOUR_MS).toISOString(), dry_run: true };
    return ((await p.send('POST', `${p.tenant}/deliveries/replay`, { body })).body as Json).total;
  },
};

for (const [place, count] of Object.entries(COUNTS))
  test(`${place} counts the deliveries that were given up in the last 24 hours, whenever they were received`, async () => {
    assert.is(await count(), 3);
  });

test('the list says since when its deliveries were given up, and offers to send all of them again', async () => {
  const text = await page(linkIn(overviewText, /data-figure="failed"[\s\S]*?href="([^"]+)"/));
  assert.match(text, /Given up since \d+ \w{3} \d{4}, \d\d:\d\d/);
  const form = linkIn(text, /href="([^"]*replayTenantDeliveries[^"]*)"[^>]*>[\s\S]{0,400}?Replay 3/);
  assert.match(form, 'given_up_from=');
  assert.match(await page(form), /Given up since/);
});

test('a request with an invalid time in given_up_from is refused, and the page shows the reason', async () => {
  const answer = await p.send('GET', `${p.tenant}/deliveries?given_up_from=yesterday`);
  assert.is(answer.status, 422, answer.text);
  assert.match(await page(`${p.base}/deliveries?given_up_from=yesterday`), /given_up_from/);
});

afterLastTest(() => p.close());

test.run();
