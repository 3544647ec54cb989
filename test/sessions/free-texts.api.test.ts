import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createSessionPlatform, errorCode, type Json } from '../fixtures/session-platform.ts';
import type { Answer } from '../fixtures/test-platform.ts';

const p = await createSessionPlatform();
const { agent } = p;

/** A pattern that is not quick enough for long texts. */
const SLOW = [{ pattern: '([a-z]{1,30}-){1,30}[0-9]{1,30}', tag: 'slow' }];
const PATTERNS = [{ pattern: 'CUST-[0-9]{6}', tag: 'customer' }];
const BLOCKING = { name: 'no forbidden words', kind: 'pattern', options: { pattern: 'forbidden' }, action: 'block' };

const put = async (what: string, body: unknown): Promise<void> => {
  const { status, text } = await p.send('PUT', `${p.tenant}/${what}`, { body });
  assert.is(status, 200, text);
};
const setRules = async (patterns: readonly object[], rules: readonly object[] = []): Promise<void> => {
  await put('redaction-patterns', patterns);
  await put('guardrails', rules);
};

type Writer = 'person' | 'runner';
type Request = { readonly path: string; readonly body: object };
/** A request with a text. `read` returns the text from the answer. */
type Row = {
  readonly name: string;
  readonly by: readonly Writer[];
  readonly request: (text: string, by: Writer) => Promise<Request>;
  readonly read: (answer: Json) => unknown;
};

const keyOf = (by: Writer): string => (by === 'runner' ? agent.runner : p.key);
const open = (by: Writer): Promise<string> => p.startSession({}, keyOf(by));
const approval = (fields: object) => ({ role: 'assistant', kind: 'approval', content: '', approval: { action: 'Merge', ...fields } });
const ended = async (): Promise<string> => {
  const session = await open('person');
  await p.end(session, 'complete');
  return session;
};
const asked = async (): Promise<string> => {
  const session = await open('person');
  return `${session}/messages/${((await p.append(session, approval({}))).body as Json).id}/decision`;
};

const end = (how: string, field: 'summary' | 'error', by: readonly Writer[]): Row => ({
  name: `the ${field} of ${how}`,
  by,
  request: async (text, who) => ({ path: `${await open(who)}/${how}`, body: { [field]: text } }),
  read: (answer) => answer[field],
});
const BOTH = ['person', 'runner'] as const;

const rows: readonly Row[] = [
  {
    name: 'the title of a session',
    by: BOTH,
    request: async (title) => ({ path: `${agent.path}/sessions`, body: { title } }),
    read: ({ title }) => title,
  },
  {
    name: 'the title of a session that continues another',
    by: BOTH,
    request: async (title) => ({ path: `${await ended()}/continue`, body: { title } }),
    read: ({ title }) => title,
  },
  {
    name: 'a message',
    by: BOTH,
    request: async (content, by) => ({ path: `${await open(by)}/messages`, body: { role: 'user', content } }),
    read: ({ content }) => content,
  },
  {
    name: 'a message of a tool with its costs',
    by: ['runner'],
    request: async (content) => ({ path: `${await open('runner')}/messages`, body: { role: 'tool', content, prompt_tokens: 5 } }),
    read: ({ content }) => content,
  },
  {
    name: 'the message of an approval',
    by: ['runner'],
    request: async (content) => ({ path: `${await open('runner')}/messages`, body: { ...approval({}), content, prompt_tokens: 5 } }),
    read: ({ content }) => content,
  },
  {
    name: 'the action of an approval',
    by: ['runner'],
    request: async (action) => ({ path: `${await open('runner')}/messages`, body: approval({ action }) }),
    read: (answer) => (answer.approval as Json).action,
  },
  {
    name: 'the detail of an approval',
    by: ['runner'],
    request: async (detail) => ({ path: `${await open('runner')}/messages`, body: approval({ detail }) }),
    read: (answer) => (answer.approval as Json).detail,
  },
  {
    name: 'the comment of a decision',
    by: ['person'],
    request: async (comment) => ({ path: await asked(), body: { decision: 'denied', comment } }),
    read: ({ comment }) => comment,
  },
  end('complete', 'summary', ['runner']),
  end('fail', 'error', ['runner']),
  end('cancel', 'summary', BOTH),
  end('cancel', 'error', BOTH),
];

const TEXT = 'Order of CUST-123456';
const REDACTED = 'Order of [redacted:customer]';

for (const { name, by, request, read } of rows)
  for (const who of by) {
    test(`${name}, by a ${who}, is redacted before it is stored; a repeat of the request gets what was stored`, async () => {
      await setRules(PATTERNS);
      const { path, body } = await request(TEXT, who);
      const send = (): Promise<Answer> =>
        p.send('POST', path, { key: keyOf(who), body, headers: { 'idempotency-key': `${name} ${who}`.replaceAll(' ', '-') } });
      const first = await send();
      assert.ok(first.status < 300, first.text);
      assert.is(read(first.body as Json), REDACTED);
      await setRules([{ pattern: 'Order', tag: 'order' }, ...SLOW], [{ ...BLOCKING, options: { pattern: 'Order' } }]);
      const again = await send();
      assert.equal([again.status, read(again.body as Json)], [first.status, REDACTED], again.text);
      await setRules([]);
    });
    test(`${name}, by a ${who}, ${who === 'person' ? 'is refused if a rule of the tenant blocks it' : 'is not subject to the rules for persons'}`, async () => {
      const { path, body } = await request('a forbidden text', who);
      await setRules([], [BLOCKING]);
      const answer = await p.send('POST', path, { key: keyOf(who), body });
      const outcome = answer.status < 300 ? read(answer.body as Json) : errorCode(answer);
      assert.is(outcome, who === 'person' ? 'blocked' : 'a forbidden text', answer.text);
      await setRules([]);
    });
  }

test('the same end again changes nothing, although its summary is redacted', async () => {
  await setRules(PATTERNS);
  const session = await open('person');
  const answers = [await p.end(session, 'cancel', { summary: TEXT }, p.key), await p.end(session, 'cancel', { summary: TEXT }, p.key)];
  assert.equal(
    answers.map(({ status, body }) => [status, (body as Json).summary]),
    Array(2).fill([200, REDACTED]),
  );
  await setRules([]);
});

afterLastTest(() => p.close());

test.run();
