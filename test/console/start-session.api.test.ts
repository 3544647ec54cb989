import { test } from 'uvu';
import * as assert from 'uvu/assert';
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
const start = (content: string, files: readonly FormPart[], { key = crypto.randomUUID() as string, headers = OWN_PAGE, to = PAGE } = {}) =>
  p.send('POST', to, {
    key: '',
    raw: formBody({ name: '_key', content: key }, { name: '/message/content', content }, { name: '/title', content: '' }, ...files),
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
  assert.match(refused.text, /A file was refused[\s\S]+data-problem[\s\S]+data-form="appendMessage"[\s\S]+Look at &lt;these&gt;/);
  assert.is(refused.text.split('name="/attachment_ids"').length - 1, 1);
  const [{ id } = { id: '' }] = await sessions();
  const found = await read(`/sessions/${id}`);
  assert.equal([(await sessions()).length, found.messages.length, namesIn(found)], [before + 1, 0, ['good.txt']]);
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
