import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, startConsole } from '../fixtures/console-platform.ts';
import { seedSession } from '../fixtures/console-sessions.ts';
import { addMember } from '../fixtures/users.ts';

type Listed = {
  readonly id: string;
  readonly agent_name: string;
  readonly status: string;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cost_usd: number;
  readonly last_message_at: string | null;
};

const p = await startConsole();
const [desk, garden] = [await createAgent(p, 'Refund Desk'), await createAgent(p, 'Docs Garden')];
const [atDesk, inGarden] = [await seedSession(p, desk), await seedSession(p, garden)];
const member = await addMember(p, 'MEMBER', p.tenant_id, 'reader@example.com');
const other = await addMember(p, 'MEMBER', p.tenant_id, 'other@example.com');
const auditor = await addMember(p, 'AUDITOR');
const give = (role: string) => p.send('PUT', `${p.tenant}/agents/${desk}/roles/${member.user_id}`, { body: { role } });
assert.is((await give('VIEWER')).status, 200);
await p.waitForProjections();

const list = async (key: string, query = ''): Promise<Listed[]> => {
  const answer = await p.send('GET', `${p.tenant}/sessions?${query}`, { key });
  assert.is(answer.status, 200, answer.text);
  return answer.body as Listed[];
};
const idsFor = async (key: string, query = ''): Promise<string[]> => (await list(key, query)).map(({ id }) => id).sort();
const both = [atDesk.id, inGarden.id].sort();

test('the list of sessions has those of agents whose chats the caller may read, and for an AUDITOR all', async () => {
  assert.equal(await idsFor(p.key), both);
  assert.equal(await idsFor(auditor.key), both);
  assert.equal(await idsFor(member.key), [atDesk.id]);
  assert.equal(await idsFor(other.key), []);
  assert.equal(await idsFor(member.key, `agent_id=${garden}`), [], 'a filter opens nothing');
});

test('a listed session has the tokens, the cost and the last message of its transcript', async () => {
  const [listed] = await list(p.key, `agent_id=${desk}`);
  const { body } = await p.send('GET', `${p.tenant}/sessions/${atDesk.id}`);
  const detail = body as { messages: { created_at: string }[]; prompt_tokens: number; completion_tokens: number; total_cost_cents: number };
  assert.equal([listed!.prompt_tokens, listed!.completion_tokens], [detail.prompt_tokens, detail.completion_tokens]);
  assert.ok(detail.prompt_tokens > 0);
  assert.is(Math.round(listed!.cost_usd * 100), detail.total_cost_cents);
  assert.is(listed!.last_message_at, detail.messages.at(-1)!.created_at);
  assert.is(listed!.agent_name, 'Refund Desk');
});

test('the filter for_me lists waiting sessions of agents to which the caller may assign work', async () => {
  const waiting = (await list(p.key)).filter(({ status }) => status === 'waiting').map(({ id }) => id);
  assert.ok(waiting.length > 0);
  assert.equal(await idsFor(p.key, 'for_me=true'), waiting.sort());
  assert.equal(await idsFor(auditor.key, 'for_me=true'), [], 'an AUDITOR reads, and decides nothing');
  assert.equal(await idsFor(member.key, 'for_me=true'), [], 'nor does a VIEWER');
  assert.is((await give('MANAGER')).status, 200);
  await p.waitForProjections();
  assert.equal(await idsFor(member.key, 'for_me=true'), [atDesk.id]);
});

test('the filter for_me cannot be combined with a status, not even with the one that the sessions have', async () => {
  for (const status of ['running', 'waiting', 'completed']) {
    const answer = await p.send('GET', `${p.tenant}/sessions?for_me=true&status=${status}`);
    assert.is(answer.status, 422, `${status}: ${answer.text}`);
    const [error] = (answer.body as { errors: { pointer: string; code: string }[] }).errors;
    assert.equal([error!.pointer, error!.code], ['/query/for_me', 'not_with_filters']);
  }
  assert.equal(await idsFor(p.key, 'for_me=false&status=waiting'), await idsFor(p.key, 'for_me=true'));
});

test('the page of sessions shows a member the sessions that the API lists, with tokens and cost, and filters by name', async () => {
  const { text } = await p.open(`${p.base}/sessions`, await p.signIn(member.key));
  assert.equal(
    [...text.matchAll(/data-kind="session" data-id="(\w+)"/g)].map(([, id]) => id),
    [atDesk.id],
  );
  assert.match(
    text,
    /data-label="Agent">Refund Desk<[\s\S]+data-label="Tokens">[\d,]+ in, [\d,]+ out<[\s\S]+data-label="Cost"><data [^>]+>\$/,
  );
  assert.match(text, /Yours[\s\S]+All[\s\S]+Waiting for you/);
  assert.match(text, new RegExp(`<option value="${desk}">Refund Desk</option>`));
  assert.not.match(text, /placeholder="(?:its|their) id"/);
});

test('the page of sessions starts one with a chosen agent, if the visitor may assign work to it', async () => {
  const session = await p.signIn(member.key);
  assert.match((await p.open(`${p.base}/sessions?start=`, session)).text, /Start a session[\s\S]+<option value="\w{25}">Refund Desk/);
  assert.match((await p.open(`${p.base}/sessions?start=${desk}`, session)).text, /First message to the agent/);
  assert.not.match((await p.open(`${p.base}/sessions?start=${garden}`, session)).text, /First message to the agent/);
});

afterLastTest(() => p.close());

test.run();
