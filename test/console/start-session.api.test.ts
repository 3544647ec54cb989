import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusal } from '../../domain/refusal.ts';
import { createAgent, OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';
import { BOUNDARY, FORM_TYPE, type FormPart, formBody } from '../fixtures/form-body.ts';
import { addMember } from '../fixtures/users.ts';

type Message = { readonly content: string; readonly attachment_ids: readonly string[] };
type Session = {
  readonly session: { readonly title: string | null };
  readonly messages: readonly Message[];
  readonly attachments: readonly { readonly id: string; readonly filename: string; readonly size_bytes: number }[];
};

const p = await startConsole();
const agent = await createAgent(p, 'Reviewer');
const PAGE = `${p.base}/agents/${agent}/sessions`;

const NO_FILE: FormPart = { name: 'upload', filename: '', content: '' };

/** Sends the form as a browser does. */
const start = (
  content: string,
  files: readonly FormPart[],
  { key = crypto.randomUUID() as string, headers = OWN_PAGE, to = PAGE, title = '' } = {},
) =>
  p.send('POST', to, {
    key: '',
    raw: formBody({ name: '_key', content: key }, { name: '/message/content', content }, { name: '/title', content: title }, ...files),
    headers: { cookie: p.cookie, 'content-type': FORM_TYPE, ...headers },
  });

const sessions = async () => {
  await p.waitForProjections();
  return (await p.send('GET', `${p.tenant}/agents/${agent}/sessions`)).body as { readonly id: string }[];
};
const read = async (location: string): Promise<Session> =>
  (await p.send('GET', `${p.tenant}/sessions/${/\/sessions\/(\w+)/.exec(location)![1]}`)).body as Session;
const namesIn = ({ attachments }: Session) => attachments.map(({ filename }) => filename).toSorted();

test('one form without script starts a session whose first message names all its files', async () => {
  const form = /<form[^>]*data-form="startSession"[^>]*>[\s\S]+?<\/form>/.exec((await p.open(PAGE)).text)![0];
  assert.match(form, new RegExp(`action="${PAGE}" enctype="multipart/form-data"[\\s\\S]+name="/message/content"[\\s\\S]+type="file"`));
  const tricky = `a\r\n--${BOUNDARY.slice(0, -1)}\r\nb`;
  const long = 'x'.repeat(300_000);
  const started = await start('Read both files.\r\nThen answer.', [
    { name: 'upload', filename: 'tricky.txt', content: tricky },
    NO_FILE,
    { name: 'upload', filename: 'long.txt', content: long },
  ]);
  assert.is(started.status, 303, started.text);
  const found = await read(started.headers.get('location')!);
  assert.equal([found.session.title, namesIn(found)], [null, ['long.txt', 'tricky.txt']]);
  assert.equal(found.attachments.map(({ size_bytes }) => size_bytes).toSorted(), [tricky.length, long.length].toSorted());
  assert.equal(
    found.messages.map(({ content, attachment_ids }) => [content, attachment_ids.length]),
    [['Read both files.\nThen answer.', 2]],
  );
});

test('a form that is sent twice starts one session, with files and without', async () => {
  for (const files of [[NO_FILE], [{ name: 'upload', filename: 'a.txt', content: 'one' }]]) {
    const before = (await sessions()).length;
    const key = crypto.randomUUID();
    const [first, second] = [await start('Once', files, { key }), await start('Once', files, { key })];
    assert.equal([first.status, second.status], [303, 303], first.text + second.text);
    assert.is((await sessions()).length, before + 1);
    const { messages, attachments } = await read(second.headers.get('location')!);
    assert.equal([messages.length, attachments.length], [1, files[0]!.filename === '' ? 0 : 1]);
  }
});

test('if a file is refused, the page says why, and has the text and the other files for the message', async () => {
  const before = (await sessions()).length;
  const refused = await start('Look at <these>', [
    { name: 'upload', filename: 'good.txt', content: 'fine' },
    {
      name: 'upload',
      filename: 'bad.png',
      content: 'no picture',
      headers: 'Content-Disposition: form-data; name="upload"; filename="bad.png"\r\nContent-Type: image/png',
    },
    { name: 'upload', filename: 'never.txt', content: 'is not read' },
  ]);
  assert.is(refused.status, 422, refused.text);
  assert.match(refused.text, /A file was refused[\s\S]+role="alert"[\s\S]+data-form="appendMessage"[\s\S]+Look at &lt;these&gt;/);
  assert.is(refused.text.split('name="/attachment_ids"').length - 1, 1);
  const [{ id } = { id: '' }] = await sessions();
  const found = await read(`/sessions/${id}`);
  assert.equal([(await sessions()).length, found.messages.length, namesIn(found)], [before + 1, 0, ['good.txt']]);
});

const A_FILE: FormPart = { name: 'upload', filename: 'a.txt', content: 'one' };
const NO_PICTURE: FormPart = {
  content: 'no picture',
  headers: 'Content-Disposition: form-data; name="upload"; filename="bad.png"\r\nContent-Type: image/png',
};

test('if a message is refused after its files were added, the page says so, leads to the session, and keeps the text', async () => {
  await p.send('PUT', `${p.tenant}/guardrails`, {
    body: [{ name: 'no keys', kind: 'pattern', options: { pattern: 'KEY-\\d+' }, action: 'block' }],
  });
  const refused = await start('Use KEY-17', [A_FILE]);
  const [{ id } = { id: '' }] = await sessions();
  assert.is(refused.status, 422, refused.text);
  assert.match(refused.text, /The message was refused/);
  assert.match(refused.text, new RegExp(`href="${p.base}/sessions/${id}"[^>]*>Open the session[\\s\\S]+Use KEY-17`));
  assert.is(refused.text.split('name="/attachment_ids"').length - 1, 1);
});

test('after an answer that leaves open whether the message was sent, sending it again sends it once', async () => {
  const { append } = p.log;
  const lostAnswer = async (...sent: Parameters<typeof append>) => {
    const appended = await append(...sent);
    if (!JSON.stringify(sent).includes('SessionMessageSent')) return appended;
    throw new Refusal('unavailable', 'The event store cannot be reached', { retryAfter: 2 });
  };
  Object.assign(p.log, { append: lostAnswer });
  const answer = await start('Twice?', [A_FILE]);
  Object.assign(p.log, { append });
  assert.is(answer.status, 503, answer.text);
  assert.match(answer.text, /It is unknown whether the message was sent/);
  const form = /<form[^>]*data-form="appendMessage"[\s\S]+?<\/form>/.exec(answer.text)![0];
  const hidden = [...form.matchAll(/name="([:/_][^"]*)"[^>]*value="([^"]*)"/g)].map(([, name, value]) => [name!, value!]);
  const again = await p.submit('/console/run/appendMessage', { ...Object.fromEntries(hidden), '/content': 'Twice?' });
  assert.is(again.status, 303, again.text);
  const { messages } = await read(again.headers.get('location')!);
  assert.equal(
    messages.map(({ content, attachment_ids }) => [content, attachment_ids.length]),
    [['Twice?', 1]],
  );
});

test('a start that is refused shows the form again with the text, the title and the reason, and starts nothing', async () => {
  const paused = await createAgent(p, 'Paused', {});
  await p.send('PATCH', `${p.tenant}/agents/${paused}`, { body: { is_active: false } });
  const to = `${p.base}/agents/${paused}/sessions`;
  const before = (await sessions()).length;
  for (const files of [[NO_FILE], [A_FILE]])
    for (const [content, title, reason, place] of [
      ['Hi <all>', 'A & B', /is inactive: activate it/, to],
      ['x'.repeat(50_000), 'Long', /at most \d+ are sent: add the text as a file/, PAGE],
      ['', 'Nothing', /The message is missing/, PAGE],
      ['Hi', 't'.repeat(300), /The title/, PAGE],
    ] as const) {
      const { status, text } = await start(content, files, { to: place, title });
      assert.ok(status === 409 || status === 422, text);
      const shown = (one: string) => one.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
      const form = /<form[^>]*data-form="startSession"[\s\S]+?<\/form>/.exec(text)?.[0] ?? '';
      assert.match(text, reason);
      assert.ok(form.includes(shown(content)) && form.includes(`value="${shown(title)}"`), form);
      assert.is(/Choose the files again/.test(text), files[0] === A_FILE);
    }
  assert.is((await sessions()).length, before);
  for (const path of [`/sessions?start=${paused}`, `/agents/${paused}/sessions`]) {
    const { text } = await p.open(`${p.base}${path}`);
    assert.match(text, /data-waits-for="activation"[\s\S]+data-form="startSession"/, path);
    assert.match(text, /data-poll=/, path);
  }
});

/** Sends a form that begins with these chunks, and has no end. */
const stream = (chunks: Buffer[], cancel?: () => void) => {
  const pull = (controller: ReadableStreamDefaultController) => controller.enqueue(chunks.shift() ?? Buffer.alloc(64 << 10, 'x'));
  const headers = { cookie: p.cookie, 'content-type': FORM_TYPE, ...OWN_PAGE };
  return p.app.request(PAGE, { method: 'POST', headers, body: new ReadableStream({ pull, cancel }), duplex: 'half' } as RequestInit);
};

test('a text that is too long to be read is refused before a session is started', async () => {
  const before = (await sessions()).length;
  const answer = await stream([formBody({ name: '/message/content', content: 'x' }).subarray(0, -30)]);
  assert.equal([answer.status, /The message is too long/.test(await answer.text())], [413, true]);
  assert.is((await sessions()).length, before);
});

test('the rest of a form is not read after its first file was refused', async () => {
  const end = Promise.withResolvers<string>();
  const parts = formBody({ name: '_key', content: crypto.randomUUID() }, { name: '/message/content', content: 'Look' }, NO_PICTURE);
  const chunks = [
    parts.subarray(0, parts.lastIndexOf('--\r\n')),
    Buffer.from('\r\nContent-Disposition: form-data; name="upload"; filename="b"\r\n\r\n'),
  ];
  const answer = await stream(chunks, () => end.resolve('cancelled'));
  assert.is(answer.status, 422);
  const late = new Promise<string>((resolve) => setTimeout(resolve, 2_000, 'left open').unref());
  assert.is(await Promise.race([end.promise, late]), 'cancelled');
});

test('a start that is refused starts nothing: an empty message, an inactive agent, another site, and a person without a role', async () => {
  const before = (await sessions()).length;
  assert.is((await start('', [NO_FILE])).status, 422);
  assert.is((await start('Hi', [NO_FILE], { headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' } })).status, 403);
  const idle = await createAgent(p, 'Idle', {});
  await p.send('PATCH', `${p.tenant}/agents/${idle}`, { body: { is_active: false } });
  const inactive = await start('Hi', [NO_FILE], { to: `${p.base}/agents/${idle}/sessions` });
  assert.equal([inactive.status, /is inactive: activate it/.test(inactive.text)], [409, true]);
  const cookie = await p.signIn((await addMember(p, 'MEMBER')).key);
  assert.is((await start('Hi', [NO_FILE], { headers: { ...OWN_PAGE, cookie } as never })).status, 404);
  assert.is((await sessions()).length, before);
});

test.after(p.close);
test.run();
