import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, startConsole } from '../fixtures/console-platform.ts';

const p = await startConsole();
const agent = await createAgent(p, 'Reviewer', { description: 'as created' });
await p.waitForProjections();
const history = (await p.send('GET', `${p.tenant}/agents/${agent}/history`)).body as { position: string }[];
const oldest = history.at(-1)!.position;
const page = `${p.base}/agents/${agent}`;
const KOLKATA = 'zone=Asia%2FKolkata';

test('a page shows times in the zone of its URL, and its links and filters keep the zone', async () => {
  const { text } = await p.open(`${page}?as_of=${oldest}&${KOLKATA}`);
  const created = p.eventsOf('AgentCreated')[0]!.at;
  const local = new Date(Date.parse(created) + 5.5 * 3_600_000).toISOString().slice(11, 23);
  assert.match(text, new RegExp(`As of <strong>[^<]*, ${local} \\+05:30<`));
  assert.match(text, /Times in Asia\/Kolkata/);
  const links = [...text.matchAll(/<a [^>]*href="(\/console\/[^"]*)"/g)].map(([, href]) => href!);
  assert.ok(links.length > 10);
  for (const href of links) assert.ok(href.includes(KOLKATA), href);
  const { text: events } = await p.open(`${p.base}/events?at=2026-11-21T10:00:00Z&${KOLKATA}`);
  assert.match(events, /name="at" value="2026-11-21T15:30:00\.000\+05:30"/);
  assert.match(events, /<form method="get"[^>]*><input type="hidden" name="zone" value="Asia\/Kolkata"/);
  const typed = await p.open(`${p.base}/events?at=2026-11-21+15:30&${KOLKATA}`);
  assert.equal(
    [typed.status, new URL(typed.headers.get('location')!, 'http://x').searchParams.get('at')],
    [303, '2026-11-21T10:00:00.000Z'],
  );
});

test('the form of the time zone saves it; pages without a zone in their URL are then redirected to the saved zone', async () => {
  const form = await p.open('/console/zone?return_to=/console/me');
  assert.match(form.text, /<option value="UTC" selected="">UTC[\s\S]+<option value="Australia\/Lord_Howe">/);
  const saved = await p.submit('/console/preferences', { zone: 'europe/berlin', return_to: `${page}?zone=UTC&after=1:1` });
  assert.equal([saved.status, saved.headers.get('location')], [303, `${page}?after=1%3A1`]);
  const [cookie] = saved.headers.getSetCookie();
  assert.match(cookie!, /^annals_zone=Europe%2FBerlin; Max-Age=\d+; Path=\/console; SameSite=Lax$/);
  const session = `${p.cookie}; ${cookie!.split(';')[0]}`;
  const moved = await p.open(`${page}?after=1:1`, session);
  assert.equal([moved.status, moved.headers.get('location')], [303, `${page}?after=1%3A1&zone=Europe%2FBerlin`]);
  const refreshed = await p.send('GET', page, { key: '', headers: { cookie: session, 'x-console-refresh': '1' } });
  assert.is(refreshed.status, 200);
  const shown = async (cookies: string) => (await p.open(`${page}/compare?${KOLKATA}`, cookies)).text;
  assert.match(await shown(session), /Times in Asia\/Kolkata/);
  const foreign = await p.submit('/console/preferences', { zone: 'UTC', return_to: page }, { 'sec-fetch-site': 'cross-site' });
  assert.is(foreign.status, 403);
});

test('if a time zone does not exist, the page says so and shows times in UTC', async () => {
  for (const zone of ['Mars/Olympus', '<b>', '+01:00', '']) {
    const { status, text } = await p.open(`${page}?zone=${encodeURIComponent(zone)}`);
    assert.is(status, 200);
    assert.match(text, /data-unknown-zone=[\s\S]+There is no time zone [\s\S]+Times are shown in UTC[\s\S]+|Times in UTC/);
    assert.not.match(text, /<b>/);
  }
  const saved = await p.open(page, `${p.cookie}; annals_zone=Mars%2FOlympus`);
  assert.match(saved.text, /There is no time zone &quot;Mars\/Olympus&quot;/);
  const wrong = await p.submit('/console/preferences', { zone: 'Mars/Olympus', return_to: page });
  assert.equal([wrong.headers.get('location'), wrong.headers.getSetCookie()], [`${page}?zone=Mars%2FOlympus`, []]);
});

afterLastTest(async () => {
  await p.close();
});

test.run();
