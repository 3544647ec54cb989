import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const created = async (path: string, body: Json): Promise<Json> => {
  const answer = await p.send('POST', `${p.tenant}${path}`, { body });
  assert.ok(answer.status < 300, answer.text);
  return answer.body as Json;
};
const agent = (await created('/agents', { name: 'Reviewer', slug: 'reviewer' })).id;
const { key } = (await created(`/agents/${agent}/runner-keys`, { name: 'runner' })) as { key: string };
const newSession = async (): Promise<string> => {
  const answer = await p.send('POST', `${p.tenant}/agents/${agent}/sessions`, { key, body: { title: 'Long' } });
  assert.is(answer.status, 201, answer.text);
  return `${p.tenant}/sessions/${(answer.body as Json).id}`;
};
const write = async (session: string, content: string, more: Json = {}): Promise<void> => {
  const answer = await p.send('POST', `${session}/messages`, { key, body: { role: 'assistant', content, ...more } });
  assert.is(answer.status, 201, answer.text);
};

/** Reads all pages from the newest one on. Returns the texts of each page. */
const pagesOf = async (session: string, query = ''): Promise<string[][]> => {
  const pages: string[][] = [];
  for (let url: string | undefined = `${session}?order=newest${query}`; url; ) {
    const { body, headers } = await p.send('GET', url);
    pages.push((body as { messages: { content: string }[] }).messages.map(({ content }) => content));
    const [, cursor] = /[?&]cursor=([^&>]+)[^>]*>; rel="next"/.exec(headers.get('link') ?? '') ?? [];
    url = cursor && `${session}?order=newest${query}&cursor=${cursor}`;
  }
  return pages;
};
const numbers = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, n) => String(from + n));

test('the newest messages of a session come in pages of 50, each in the order in which they were written', async () => {
  const session = await newSession();
  assert.equal(await pagesOf(session), [[]]);
  // The use of a model is its own event, so messages and events have different numbers.
  for (let n = 0; n < 120; n++) await write(session, String(n), n % 3 === 0 ? { prompt_tokens: 1, completion_tokens: 1 } : {});
  assert.equal(await pagesOf(session), [numbers(70, 120), numbers(20, 70), numbers(0, 20)]);
  assert.equal(await pagesOf(session, '&limit=60'), [numbers(60, 120), numbers(0, 60)]);
  const { headers } = await p.send('GET', `${session}?order=newest`);
  const [, cursor] = /[?&](cursor=[^&>]+)/.exec(headers.get('link') ?? '') ?? [];
  assert.is((await p.send('GET', `${session}?${cursor}`)).status, 422, 'the oldest messages from the cursor of the newest ones');
});

test('if the newest messages are too large for one page, it has as many as fit into 8 MiB, whatever its limit', async () => {
  const session = await newSession();
  for (let n = 0; n < 30; n++) await write(session, `${n} ${'x'.repeat(400_000)}`);
  for (const query of ['', '&limit=100000']) {
    const pages = (await pagesOf(session, query)).map((page) => page.map((content) => content.split(' ')[0]));
    assert.equal(pages, [numbers(10, 30), numbers(0, 10)], query);
  }
});

test('a page with the newest messages has the files that they name, each once, and those added between them', async () => {
  const session = await newSession();
  const upload = async (filename: string): Promise<Json> => {
    const raw = formBody({ name: 'upload', filename, content: filename });
    const answer = await p.send('POST', `${session}/attachments`, { key, raw, headers: { 'content-type': FORM_TYPE } });
    assert.is(answer.status, 201, answer.text);
    return answer.body as Json;
  };
  const [early, other, shared] = [await upload('early.txt'), await upload('other.txt'), await upload('shared.txt')];
  await write(session, '0', { attachment_ids: [shared.id] });
  for (let n = 1; n < 300; n++) await write(session, String(n));
  await write(session, '300', { attachment_ids: [shared.id, early.id] });
  const between = await upload('between.txt');
  await write(session, '301', { attachment_ids: [between.id, early.id] });
  const attachmentsOf = async (query: string) => ((await p.send('GET', `${session}?order=newest${query}`)).body as Json).attachments;
  assert.equal(await attachmentsOf('&limit=2'), [early, shared, between]);
  assert.equal(await attachmentsOf('&limit=1'), [early, between]);
  assert.equal(await attachmentsOf('&limit=1000'), [early, other, shared, between]);
});

afterLastTest(p.close);

test.run();
