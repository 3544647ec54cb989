import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type ConsolePlatform, createAgent, startConsole } from '../fixtures/console-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Item = { readonly id: string; readonly name: string };

const p = await startConsole();

const post = async (path: string, body: object = {}): Promise<Item> => {
  const answer = await p.send('POST', p.tenant + path, { body });
  assert.ok([200, 201].includes(answer.status), answer.text);
  return answer.body as Item;
};
const named = (name: string) => ({ name, slug: name.toLowerCase().replaceAll(' ', '-') });
const skill = await post('/skills', { ...named('Summarize'), description: 'Summarizes', instructions: 'Read. Write five sentences.' });
const unused = await post('/skills', { ...named('Translate'), description: 'Translates', instructions: 'Translate.' });
const tool = await post('/tools', { name: 'send', display_name: 'Send a message', description: 'Sends' });
const [first, second, third] = [await createAgent(p, 'Agent B'), await createAgent(p, 'Agent A'), await createAgent(p, 'Agent C')];
for (const agent of [first, second, third]) await post(`/agents/${agent}/skills`, { skill_id: skill.id });
await post(`/agents/${second}/tools`, { tool_id: tool.id, configuration: {} });

const countsOf = async (key = p.key): Promise<unknown> => {
  await p.waitForProjections();
  const { body, text } = await p.send('GET', `${p.tenant}/agents/grants?id=${[skill, unused, tool].map(({ id }) => id)}`, { key });
  assert.ok(Array.isArray(body), text);
  return (body as { agent_count: number }[]).map(({ agent_count }) => agent_count);
};

const agentsWith = async (query: string, key = p.key): Promise<readonly string[]> => {
  const { body } = await p.send('GET', `${p.tenant}/agents?sort=name&${query}`, { key });
  return (body as Item[]).map(({ name }) => name);
};

/** Returns the rows of agents on a page of the console, and the titles of its cards. */
const shownOn = async (path: string, open: ConsolePlatform['open'] = p.open, cookie = p.cookie) => {
  const { status, text } = await open(`${p.base}${path}`, cookie);
  assert.is(status, 200, text);
  const agents = [...text.matchAll(/data-kind="agent" data-id="([^"]+)"/g)].map(([, id]) => id);
  return { text, agents, title: /<h2>([^<]*(?:ha(?:s|ve) it|that have it))<\/h2>/.exec(text)?.[1] };
};

test('the pages of a skill and of a tool list the agents that have it by name, with their number, in pages', async () => {
  await p.waitForProjections();
  const { text, agents, title } = await shownOn(`/skills/${skill.id}`);
  assert.equal([agents, title], [[second, first, third], '3 agents have it']);
  assert.match(text, `href="${p.base}/agents/${first}/skills"`);
  assert.match(text, 'Read. Write five sentences.');
  const ofTool = await shownOn(`/tools/${tool.id}`);
  assert.equal([ofTool.agents, ofTool.title], [[second], '1 agent has it']);
  const none = await shownOn(`/skills/${unused.id}`);
  assert.equal([none.agents, none.title], [[], 'Agents that have it']);
  assert.match(none.text, 'No agent has it');
  assert.is((await p.open(`${p.base}/skills/${tool.id}`)).status, 404);
});

test('the lists of skills and tools count the agents that have each, and lead to the pages', async () => {
  const { text } = await shownOn('/skills');
  assert.match(text, `href="${p.base}/skills/${skill.id}"`);
  const rowIn = (page: string) => page.split('data-kind="skill"').find((one) => one.includes(skill.id)) ?? '';
  assert.match(rowIn(text), />3</);
  const { position } = p.log.events.at(-1)!;
  const past = rowIn((await shownOn(`/skills?as_of=${position.commit}:${position.prepare}`)).text);
  assert.match(past, /Summarize/);
  assert.not.match(past, />3</, 'the number of the present on a page that shows the past');
  assert.match((await shownOn('/skills?kind=tools')).text, `href="${p.base}/tools/${tool.id}"`);
});

test('agents are listed by a skill or a tool, and counted, as far as the caller may see them', async () => {
  assert.equal(await countsOf(), [3, 0, 1]);
  assert.equal(await agentsWith(`skill_id=${skill.id}`), ['Agent A', 'Agent B', 'Agent C']);
  assert.equal(await agentsWith(`tool_id=${tool.id}`), ['Agent A']);
  assert.is((await p.send('GET', `${p.tenant}/agents?skill_id=${skill.id}&tool_id=${tool.id}`)).status, 422);
  const member = await addMember(p, 'MEMBER');
  await p.waitForProjections();
  assert.equal([await countsOf(member.key), await agentsWith(`skill_id=${skill.id}`, member.key)], [[0, 0, 0], []]);
});

test('what an agent has is counted after a copy, a revocation, a deletion and a restoration', async () => {
  const copy = (await p.send('POST', `/agents/${second}/clone`, { body: { name: 'Copy' } })).body as Item;
  assert.equal(await countsOf(), [4, 0, 2]);
  await p.send('DELETE', `${p.tenant}/agents/${copy.id}/tools/${tool.id}`);
  await p.send('DELETE', `${p.tenant}/agents/${first}/skills/${skill.id}`);
  assert.equal(await countsOf(), [3, 0, 1]);
  await p.send('DELETE', `${p.tenant}/agents/${copy.id}`);
  assert.equal(await countsOf(), [2, 0, 1]);
  assert.is((await p.send('POST', `${p.tenant}/agents/${copy.id}/restore`, { body: {} })).status, 200);
  assert.equal(await countsOf(), [3, 0, 1]);
});

afterLastTest(p.close);

test.run();
