import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';
import { createRunner } from '../fixtures/console-sessions.ts';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await startConsole();
const agent = await createAgent(p, 'Reviewer');
const runner = await createRunner(p, agent);
const key = () => ({ _key: crypto.randomUUID() });
const ofTenant = { ':tenant_id': p.tenant_id };

const run = async (operation: string, fields: Record<string, string>, session?: string): Promise<string> => {
  const answer = await p.submit(`/console/run/${operation}`, { ...ofTenant, ...key(), ...fields }, OWN_PAGE, session);
  assert.is(answer.status, 303, answer.text);
  return answer.headers.get('location')!;
};
const idIn = (location: string): string => /\/sessions\/(\w+)/.exec(location)![1]!;
const read = async (id: string): Promise<{ session: Json; messages: Json[]; attachments: Json[] }> =>
  (await p.send('GET', `${p.tenant}/sessions/${id}`)).body as never;
const open = async (path: string, session?: string): Promise<string> => {
  await p.waitForProjections();
  return (await p.open(path, session)).text;
};
const start = async (): Promise<string> =>
  idIn(await run('startSession', { ':agent_id': agent, '/title': 'Review', '/message/content': 'Please review it.' }));
const ask = async (id: string, action: string): Promise<string> => {
  const approval = { action, detail: 'All checks <b>passed</b>.' };
  const body = { role: 'assistant', kind: 'approval', content: 'May I?', approval };
  return String(((await p.send('POST', `${p.tenant}/sessions/${id}/messages`, { key: runner, body })).body as Json).id);
};

test('a person starts a session with a first message on the tab of an agent, and writes further messages on its page', async () => {
  assert.match(await open(`${p.base}/agents/${agent}/sessions`), /data-form="startSession"/);
  const id = await start();
  assert.match(await open(`${p.base}/sessions/${id}`), /Please review it\.[\s\S]+data-form="appendMessage"/);
  await run('appendMessage', { ':session_id': id, '/role': 'user', '/content': 'Look at the log, too.' });
  assert.equal(
    (await read(id)).messages.map(({ role, content }) => [role, content]),
    [
      ['user', 'Please review it.'],
      ['user', 'Look at the log, too.'],
    ],
  );
});

test('texts of the agent are shown as Markdown without active content, and texts of people as plain text', async () => {
  const id = await start();
  const content =
    '### Found\n\n| order | state |\n|---|---|\n| 4711 | **open** |\n\n[log](https://example.com/log) [x](javascript:alert(1)) <script>alert(1)</script> ![p](https://example.com/p.png)';
  await p.send('POST', `${p.tenant}/sessions/${id}/messages`, { key: runner, body: { role: 'assistant', content } });
  await run('appendMessage', { ':session_id': id, '/role': 'user', '/content': '**not bold**' });
  const text = await open(`${p.base}/sessions/${id}`);
  const [, shown = ''] = /<div class="message-text markdown">([\s\S]+?)<\/li>/.exec(text)!;
  assert.match(shown, /<h5>Found<\/h5>[\s\S]+<td>4711<\/td><td><strong>open<\/strong><\/td>/);
  assert.match(shown, '<a href="https://example.com/log" rel="noopener noreferrer nofollow">log</a>');
  assert.not.match(shown, /<script|javascript:|<img/);
  assert.match(shown, '<a href="https://example.com/p.png" rel="noopener noreferrer nofollow">p</a>');
  assert.match(text, '<pre class="message-text">**not bold**</pre>');
  assert.is(text.split('class="message-day').length - 1, 1, 'one day is named once');
});

test('a page renders only some of many hostile texts as Markdown, so that it loads quickly', async () => {
  const id = await start();
  const content = '\n- a'.repeat(2_000);
  for (let n = 0; n < 40; n++)
    await p.send('POST', `${p.tenant}/sessions/${id}/messages`, { key: runner, body: { role: 'assistant', content } });
  const rendered = (await open(`${p.base}/sessions/${id}`)).split('class="message-text markdown"').length - 1;
  assert.ok(rendered > 0 && rendered <= 8, `${rendered} texts`);
});

test('a file that is added on the page of a session is named by the next message; others cannot add one', async () => {
  const id = await start();
  const upload = (headers: Record<string, string>, path = `${p.base}/sessions/${id}/files`) =>
    p.send('POST', path, {
      key: '',
      raw: formBody({ name: 'upload', filename: 'build.log', content: 'all green' }),
      headers: { cookie: p.cookie, 'content-type': FORM_TYPE, ...headers },
    });
  assert.is((await upload({ origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })).status, 403);
  const added = await upload(OWN_PAGE);
  assert.is(added.status, 303, added.text);
  const text = await open(added.headers.get('location')!);
  const file = /name="\/attachment_ids" value="(\w+)"/.exec(text)![1]!;
  const action = /formaction="([^"]+\/files[^"]*)"/.exec(text)![1]!;
  const both = await open((await upload(OWN_PAGE, action)).headers.get('location')!);
  assert.is(both.split('name="/attachment_ids"').length - 1, 2, 'a second file is named besides the first');
  await run('appendMessage', { ':session_id': id, '/role': 'user', '/content': 'Here it is', '/attachment_ids': file });
  assert.equal((await read(id)).messages.at(-1)!.attachment_ids, [file]);
  assert.match(await open(`${p.base}/sessions/${id}`), /Here it is[\s\S]+download="build\.log"/);
});

test('a text that is typed before a file is added stays in the form; with one that is too long, no file is added', async () => {
  const id = await start();
  const upload = (text: string) =>
    p.send('POST', `${p.base}/sessions/${id}/files`, {
      key: '',
      raw: formBody(
        { name: ':session_id', content: id },
        { name: '/content', content: text },
        { name: 'upload', filename: 'build.log', content: `all "green"\r\n--a-boundary` },
      ),
      headers: { cookie: p.cookie, 'content-type': FORM_TYPE, ...OWN_PAGE },
    });
  const typed = 'Look at <this> & that:\r\nüñ "quoted"';
  const added = await upload(typed);
  assert.is(added.status, 303, added.text);
  const text = await open(added.headers.get('location')!);
  const shown = /<textarea[^>]*name="\/content"[^>]*>([^<]*)<\/textarea>/.exec(text)![1]!;
  assert.match(shown, /^Look at &lt;this&gt; &amp; that:\s+üñ /);
  assert.is(text.split('name="/attachment_ids"').length - 1, 1);
  const [file] = (await read(id)).attachments;
  assert.equal([file!.filename, file!.size_bytes], ['build.log', 25]);
  const long = await upload('ü'.repeat(2_000));
  assert.equal([long.status, /too long to be kept[\s\S]*go back/.test(long.text)], [413, true]);
  assert.is((await read(id)).attachments.length, 1);
});

test('a file that is refused on the page of a session leaves the typed text and the files before it in the form', async () => {
  const id = await start();
  const upload = (query: string, headers: string) =>
    p.send('POST', `${p.base}/sessions/${id}/files${query}`, {
      key: '',
      raw: formBody({ name: '/content', content: 'Look at <this>' }, { content: 'no picture', headers }),
      headers: { cookie: p.cookie, 'content-type': FORM_TYPE, ...OWN_PAGE },
    });
  const disposition = 'Content-Disposition: form-data; name="upload"; filename="a.png"\r\nContent-Type: ';
  await upload('', `${disposition}text/plain`);
  const [file] = (await read(id)).attachments;
  const refused = await upload(`?file=${file!.id}`, `${disposition}image/png`);
  assert.is(refused.status, 422, refused.text);
  assert.match(refused.text, /The file was not added[\s\S]+role="alert"[\s\S]+data-form="appendMessage"[\s\S]+Look at &lt;this&gt;/);
  assert.match(refused.text, new RegExp(`name="/attachment_ids"[^>]*value="${file!.id}"`));
});

test('a message is not sent if a file was chosen for it but not added', async () => {
  const id = await start();
  const fields = { ...ofTenant, ...key(), ':session_id': id, '/role': 'user', '/content': 'See the log.' };
  const refused = await p.submit('/console/run/appendMessage', { ...fields, upload: 'build.log' }, OWN_PAGE);
  assert.equal([refused.status, /The chosen file was not added yet[\s\S]*go back/.test(refused.text)], [422, true]);
  assert.is((await p.submit('/console/run/appendMessage', { ...fields, upload: '' }, OWN_PAGE)).status, 303);
  assert.is((await read(id)).messages.length, 2);
});

test('a person decides on an approval in the page of its session; the overview and the agent show those that are open', async () => {
  const id = await start();
  const message = await ask(id, 'Merge <i>it</i>');
  const link = new RegExp(`/sessions/${id}#m-${message}`);
  for (const path of [p.base, `${p.base}/agents/${agent}`]) assert.match(await open(path), link);
  const page = await open(`${p.base}/sessions/${id}`);
  assert.match(page, /Merge &lt;i&gt;it&lt;\/i&gt;[\s\S]+All checks &lt;b&gt;passed/);
  assert.match(page, /data-form="decideApproval"[\s\S]+value="approved"[\s\S]+value="denied"/);
  const fields = { ':session_id': id, ':message_id': message, '/decision': 'approved', '/comment': 'After 18:00' };
  const target = await run('decideApproval', { ...fields, _return: `${p.base}/sessions/${id}` });
  assert.match(await open(target), /data-status="approved"[\s\S]+After 18:00/);
  for (const path of [p.base, `${p.base}/agents/${agent}`]) assert.not.match(await open(path), link);
  const again = await p.submit('/console/run/decideApproval', { ...ofTenant, ...key(), ...fields, '/decision': 'denied' });
  assert.is(again.status, 409);
  assert.match(again.text, /has already decided: approved/);
});

test('a session is interrupted and cancelled on its page; one that has ended is continued there', async () => {
  const id = await start();
  assert.match(await open(`${p.base}/sessions/${id}`), /data-form="interruptSession"[\s\S]+data-form="cancelSession"/);
  await run('interruptSession', { ':session_id': id });
  await run('cancelSession', { ':session_id': id });
  const ended = await open(`${p.base}/sessions/${id}`);
  assert.not.match(ended, /data-form="(?:interruptSession|cancelSession|appendMessage|addSessionAttachment)"/);
  assert.match(ended, /data-form="continueSession"/);
  const next = idIn(await run('continueSession', { ':session_id': id, '/message/content': 'Go on' }));
  assert.not.equal(next, id);
  assert.match(await open(`${p.base}/sessions/${next}`), new RegExp(`/sessions/${id}"[^>]*>an earlier session`));
});

test('visitors who may only read the chats of an agent see its sessions without forms; others get 404 for the page', async () => {
  const id = await start();
  await ask(id, 'Merge it');
  const viewer = await addMember(p, 'MEMBER', p.tenant_id, 'viewer@example.com');
  const cookie = await p.signIn(viewer.key);
  const status = async () => (await p.open(`${p.base}/sessions/${id}`, cookie)).status;
  assert.is(await status(), 404);
  await p.send('PUT', `${p.tenant}/agents/${agent}/roles/${viewer.user_id}`, { body: { role: 'VIEWER' } });
  assert.is(await status(), 200);
  const text = await open(`${p.base}/sessions/${id}`, cookie);
  assert.match(text, /Merge it/);
  assert.not.match(text, /data-form="(?:decideApproval|appendMessage|interruptSession|addSessionAttachment)"/);
});

afterLastTest(() => p.close());

test.run();
