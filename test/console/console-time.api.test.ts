import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { pastTime } from '../../api/console/past-time.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';
import { formIn, submittedBy } from '../fixtures/html-form.ts';
import { addMember } from '../fixtures/users.ts';

const p = await startConsole();
const agent = await createAgent(p, 'Reviewer', { description: 'as created' });
for (const description of ['second', 'third']) await p.send('PATCH', `${p.tenant}/agents/${agent}`, { body: { description } });
const history = (await p.send('GET', `${p.tenant}/agents/${agent}/history`)).body as { position: string }[];
const [newest, middle, oldest] = history.map(({ position }) => position) as [string, string, string];
const page = `${p.base}/agents/${agent}`;

const NOW = Date.parse('2026-11-23T10:30:00.000Z');

test('a time in words such as `2 hours ago` is read in the time zone of the page; a text that is not a time is refused', () => {
  const cases = {
    'yesterday 9:00': '2026-11-22T09:00:00.000Z',
    'today 14:05': '2026-11-23T14:05:00.000Z',
    '9:00': '2026-11-23T09:00:00.000Z',
    '2 hours ago': '2026-11-23T08:30:00.000Z',
    '90 s ago': '2026-11-23T10:28:30.000Z',
    '2026-11-21': '2026-11-21T00:00:00.000Z',
    '2026-11-21 10:15': '2026-11-21T10:15:00.000Z',
    '2026-11-21T10:15:00+01:00': '2026-11-21T10:15:00+01:00',
    '47110:47110': '47110:47110',
    '': null,
    tomorrow: null,
    'at 25:99': null,
    '2026-13-40': null,
    '<script>': null,
  };
  for (const [text, expected] of Object.entries(cases)) assert.is(pastTime(text, NOW, 'UTC'), expected, text);
  const inBerlin = {
    'yesterday 9:00': '2026-11-22T08:00:00.000Z',
    '2026-07-01': '2026-06-30T22:00:00.000Z',
    '2 hours ago': '2026-11-23T08:30:00.000Z',
    '2026-11-21T10:15:00Z': '2026-11-21T10:15:00Z',
  };
  for (const [text, expected] of Object.entries(inBerlin)) assert.is(pastTime(text, NOW, 'Europe/Berlin'), expected, text);
  assert.is(pastTime('today 1:00', Date.parse('2026-11-23T23:30:00Z'), 'Asia/Tokyo'), '2026-11-23T16:00:00.000Z');
});

test('a page at a past time shows the state of that time, marked by an amber frame, without forms for changes', async () => {
  const { status, text } = await p.open(`${page}?as_of=${oldest}`);
  assert.is(status, 200);
  assert.match(text, /class="frame past"/);
  assert.match(text, /as created/);
  assert.not.match(text, /third/);
  assert.match(text, /2 or more events ago|2 events ago/);
  assert.not.match(text, /data-form=|\/console\/run\//);
});

test('the links on a page at a past time lead to pages at the same time, except the links to other times', async () => {
  const { text } = await p.open(`${page}?as_of=${middle}`);
  const links = [...text.matchAll(/<a ([^>]*href="(\/console\/t\/[^"]*)"[^>]*)>/g)].filter(([, tag]) => !tag!.includes('data-now'));
  assert.ok(links.length > 8);
  for (const [, , href] of links) assert.ok(href!.includes(`as_of=${encodeURIComponent(middle)}`), href);
  assert.match(text, /href="[^"]+\/agents\/\w+"[^>]*data-hotkey="n"|data-hotkey="n"[^>]*/);
});

test('on a page at a past time, links lead to the previous and to the next event; after the last event, the next link leads to the present', async () => {
  const back = await p.open(`${page}?as_of=back`);
  assert.equal([back.status, back.headers.get('location')], [303, `${page}?as_of=${encodeURIComponent(middle)}`]);
  const { text } = await p.open(back.headers.get('location')!);
  const href = (key: string) =>
    [...text.matchAll(/<a [^>]*>/g)].find(([tag]) => tag.includes(`data-hotkey="${key}"`))?.[0].match(/href="([^"]*)"/)?.[1];
  assert.is(href('['), `${page}?as_of=${encodeURIComponent(oldest)}`);
  assert.is(href(']'), page);
  assert.is(href('n'), page);
});

test('a time that is entered in words becomes an absolute time in the URL; a text that is not a time gets an error at its field', async () => {
  const answer = await p.open(`${page}?as_of=${encodeURIComponent('2 hours ago')}`);
  assert.is(answer.status, 303);
  assert.match(answer.headers.get('location')!, /as_of=\d{4}-\d\d-\d\dT/);
  const wrong = await p.open(`${page}?as_of=${encodeURIComponent('<b>then')}`);
  assert.is(wrong.status, 422);
  assert.match(wrong.text, /aria-invalid="true"[\s\S]+This is neither a time nor a position/);
  assert.not.match(wrong.text, /<b>then/);
});

test('at a time before a resource was created, its page says that it did not exist', async () => {
  const { status, text } = await p.open(`${page}?as_of=2020-01-01T00:00:00Z`);
  assert.is(status, 404);
  assert.match(text, /Nothing is here at this time[\s\S]*/);
  assert.match(text, /class="frame past"/);
});

test('a page at a past time names its parts that show the present state instead', async () => {
  const { text } = await p.open(`${page}?as_of=${middle}`);
  assert.match(text, /As it is now, because it has no past here: [^<]*deliveries/);
  assert.not.match(text, /has no past here: [^<]*Read who the caller is/);
});

test('lists at a past time show the items of that time', async () => {
  const later = await createAgent(p, 'Later');
  const { status, text } = await p.open(`${p.base}/agents?as_of=${newest}`);
  assert.is(status, 200, text.slice(0, 300));
  assert.match(text, new RegExp(agent));
  assert.not.match(text, new RegExp(later));
});

test('a change that is submitted with a past time, in the URL or in a field, is refused and changes nothing', async () => {
  const before = p.log.events.length;
  const fields = submittedBy(formIn((await p.open(page)).text, 'updateAgent'));
  const own = Object.fromEntries(fields);
  for (const [query, sent] of [
    [`?as_of=${middle}`, own],
    ['', { ...own, as_of: middle }],
  ] as const) {
    const answer = await p.submit(`/console/run/updateAgent${query}`, sent);
    assert.is(answer.status, 409, answer.text);
    assert.match(answer.text, /The past cannot be changed/);
  }
  const body = { description: 'as of then' };
  assert.is((await p.send('PATCH', `${p.tenant}/agents/${agent}?as_of=${middle}`, { body })).status, 422);
  assert.is((await p.send('POST', `${p.tenant}/agents?as_of=${middle}`, { body: { name: 'Past', slug: 'past' } })).status, 422);
  assert.is(p.log.events.length, before);
});

test('a form with a past time in its URL is refused, with a link to the form of the present', async () => {
  const form = `/console/run/updateAgent?tenant_id=${p.tenant_id}&agent_id=${agent}`;
  const { status, text } = await p.open(`${form}&as_of=${encodeURIComponent(oldest)}`);
  assert.is(status, 409);
  assert.match(text, /The past cannot be changed[\s\S]+Open the form of the present/);
  assert.not.match(text, /data-form="updateAgent"|as created/);
  assert.is((await p.open(form)).status, 200);
});

test('a filtered list that is taken to the past shows all agents of that time, and says that it cannot be filtered', async () => {
  const { status, text } = await p.open(`${p.base}/agents?q=nothing&is_active=true&as_of=${newest}`);
  assert.is(status, 200, text.slice(0, 300));
  assert.match(text, new RegExp(agent));
  assert.match(text, /data-unfiltered[\s\S]+A list of the past cannot be filtered/);
});

test('for each event of a random history, the agent page shows the state, the position, and how many events followed', async () => {
  const id = await createAgent(p, 'Generated', { description: 'text 0' });
  const texts = ['text 0'];
  for (let index = 1; index <= 8; index++) {
    texts.push(`text ${(index * 7) % 5}.${index}`);
    await p.send('PATCH', `${p.tenant}/agents/${id}`, { body: { description: texts.at(-1) } });
  }
  const events = (await p.send('GET', `${p.tenant}/agents/${id}/history`)).body as { position: string }[];
  assert.is(events.length, texts.length);
  for (const [index, { position }] of events.entries()) {
    const { text } = await p.open(`${p.base}/agents/${id}?as_of=${position}`);
    const main = text.slice(text.indexOf('<main'));
    const expected = texts[texts.length - 1 - index]!;
    for (const one of texts) assert.is(main.includes(`>${one}<`), one === expected, `${one} at ${position}`);
    assert.match(text, new RegExp(`, position ${position} · ${index === 0 ? 'no event since' : `${index} events? ago`}`));
  }
});

test('comparing b with a shows the inverse of comparing a with b', async () => {
  const changes = async (from: string, to: string) => {
    const { text } = await p.open(`${page}/compare?from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`);
    const table = /<table class="changes">([\s\S]*?)<\/table>/.exec(text)?.[1] ?? '';
    return [
      ...table.matchAll(
        /<th[^>]*><code>([^<]*)<\/code>(?:<div[\s\S]*?<\/div>)?<\/th><td><del>([\s\S]*?)<\/del><\/td><td><ins>([\s\S]*?)<\/ins>/g,
      ),
    ].map((one) => one.slice(1).map((cell) => cell.replaceAll(/<\/?mark>/g, '')));
  };
  const there = await changes(oldest, newest);
  assert.ok(there.some(([pointer]) => pointer === '/description'));
  assert.equal(
    await changes(newest, oldest),
    there.map(([pointer, from, to]) => [pointer, to, from]),
  );
});

test("the stops of a page's time slider are the events of the resource; if the visitor may not read these events, the stops are times at equal intervals", async () => {
  const stops = async (path: string, cookie: string) => {
    const answer = await p.send('GET', path, { key: '', headers: { cookie, 'x-console-time': '1' } });
    assert.is(answer.status, 200);
    return JSON.parse(/data-ticks="([^"]*)"/.exec(answer.text)![1]!.replaceAll('&quot;', '"')) as [string, string][];
  };
  const ofAgent = await stops(page, p.cookie);
  assert.equal(
    ofAgent.map(([position]) => position),
    history.map(({ position }) => position).toReversed(),
  );
  assert.match(ofAgent[0]![1], /^Agent created, \d+ \w+ \d{4}, [\d:.]+ UTC$/);
  const member = await p.signIn((await addMember(p, 'MEMBER', p.tenant_id, 'slider@example.com')).key);
  const plain = await stops(`${p.base}/agents`, member);
  assert.is(plain.length, 120);
  for (const [at] of plain) assert.match(at, /^\d{4}-\d\d-\d\dT/);
});

test('the page that compares a resource at two times shows the differences by field, and can restore the earlier state', async () => {
  const path = `${page}/compare?from=${encodeURIComponent(oldest)}`;
  const { status, text } = await p.open(path);
  assert.is(status, 200);
  assert.match(text, /\/description[\s\S]+as created[\s\S]+third/);
  assert.match(text, /<code>\/description<\/code><div class="quiet" data-by="[\w-]{36}">by [^<]+, </);
  assert.match(text, /What happened in between[\s\S]+changed description of the agent/);
  const fields = submittedBy(formIn(text, 'restoreAgent'));
  const headers = { cookie: p.cookie, 'content-type': 'application/x-www-form-urlencoded', ...OWN_PAGE };
  const answer = await p.send('POST', '/console/run/restoreAgent', { key: '', raw: fields.toString(), headers });
  assert.equal([answer.status, answer.headers.get('location')!.split('?')[0]], [303, page], answer.text);
  assert.is(((await p.send('GET', `${p.tenant}/agents/${agent}`)).body as { description: string }).description, 'as created');
});

test('the page that compares a resource at two times shows a form for the times if the URL does not contain them', async () => {
  assert.match((await p.open(`${page}/compare`)).text, /Which times\?/);
});

test('a deleted agent is in lists of the past; its page says that it is deleted, and restores it unless another agent has its slug', async () => {
  const removed = await createAgent(p, 'Removed', { slug: 'removed' });
  const { position } = ((await p.send('GET', `${p.tenant}/agents/${removed}/history`)).body as { position: string }[])[0]!;
  await p.send('DELETE', `${p.tenant}/agents/${removed}`);
  const url = `${p.base}/agents/${removed}`;
  assert.not.match((await p.open(`${p.base}/agents`)).text, new RegExp(removed));
  assert.match((await p.open(`${p.base}/agents?as_of=${position}`)).text, new RegExp(removed));
  const member = await p.signIn((await addMember(p, 'MEMBER', p.tenant_id, 'member@example.com')).key);
  assert.match((await p.open(url, member)).text, /There is no such page/);
  const { status, text } = await p.open(url);
  assert.is(status, 404);
  assert.match(text, /<h1>Removed<\/h1>[\s\S]+This agent is deleted/);
  const restore = (page: string) =>
    p.submit('/console/run/restoreAgent', Object.fromEntries(submittedBy(formIn(page, 'restoreAgent'))), OWN_PAGE);
  const restored = await restore(text);
  assert.equal([restored.status, restored.headers.get('location')?.split('?')[0]], [303, url]);
  assert.is((await p.open(url)).status, 200);

  await p.send('DELETE', `${p.tenant}/agents/${removed}`);
  const deleted = (await p.open(url)).text;
  await createAgent(p, 'Successor', { slug: 'removed' });
  const refused = await restore(deleted);
  assert.is(refused.status, 409);
  assert.match(refused.text, /data-problem[\s\S]+Another agent uses the slug now/);
  const after = (await p.open(url)).text;
  assert.match(after, /Another agent has its slug now/);
  assert.is(formIn(after, 'restoreAgent'), '');
});

afterLastTest(async () => {
  await p.close();
});

test.run();
