import { hash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { entryIdOf } from '../../domain/memory/entry-id.ts';
import { Refusal } from '../../domain/refusal.ts';
import { unpackZip } from '../../infra/archives/unpack-zip.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';
import { createMemoryPlatform, type Entry, type Json, linesOf, textsOf } from '../fixtures/memory-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';
import { sign } from '../fixtures/webhook-platform.ts';
import { skillArchive } from '../fixtures/zip-archive.ts';

const { p, newAgent, memoryOf, imported } = await createMemoryPlatform();
const digestOf = (content: string | Uint8Array): string => hash('sha256', content, 'hex');
const created = async (path: string, body: object, key = p.key): Promise<Json> => {
  const answer = await p.send('POST', path, { key, body });
  if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`);
  return answer.body as Json;
};
const upload = async (path: string, part: { name: string; content: string | Uint8Array }, key = p.key): Promise<Json> => {
  const raw = formBody({ filename: 'a.txt', ...part });
  const answer = await p.send('POST', path, { key, raw, headers: { 'content-type': FORM_TYPE } });
  if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`);
  return answer.body as Json;
};
const runnerOf = async (agent: string): Promise<{ id: string; key: string }> =>
  (await created(`${p.tenant}/agents/${agent}/runner-keys`, { name: 'runner' })) as never;

/** Creates an agent with a runner, to which people have given a memory, a session, a mail and a skill, each with a file. */
const furnishedAgent = async (name: string) => {
  const id = await newAgent();
  const agent = `${p.tenant}/agents/${id}`;
  const runner = await runnerOf(id);
  const importId = await imported(id, linesOf(`${name} one`, `${name} two`, `${name} three`), 'notes.jsonl');
  const session = `${p.tenant}/sessions/${(await created(`${agent}/sessions`, { title: name })).id}`;
  await created(`${session}/messages`, { role: 'user', content: `Read ${name}` });
  await upload(`${session}/attachments`, { name: 'upload', content: `file of the session ${name}` });
  const mail = (await created(`${agent}/mail`, { to: ['x@example.test'], subject: 's', text: 't' })).id;
  await upload(`${agent}/messages/${mail}/attachments`, { name: 'file', content: `file of the mail ${name}` });
  const archive = skillArchive(`skill-${name}`);
  const skill = (await upload(`${p.tenant}/skills/import`, { name: 'upload', content: archive })).id as string;
  await created(`${agent}/skills`, { skill_id: skill });
  return { id, agent, runner, importId, session, skill, archive };
};
type Furnished = Awaited<ReturnType<typeof furnishedAgent>>;

await p.send('PATCH', p.tenant, { body: { external_mail_enabled: true } });
const one = await furnishedAgent('one');
const two = await furnishedAgent('two');
const neighbour = await createSecondTenant(p);
const strangeAgent = `${neighbour.tenant}/agents/${(await created(`${neighbour.tenant}/agents`, { name: 'A', slug: 'a' }, neighbour.key)).id}`;
const stranger = (await created(`${strangeAgent}/runner-keys`, { name: 'r' }, neighbour.key)).key as string;

const get = (path: string, key: string) => p.send('GET', path, { key });
const fileOf = (content: string | Uint8Array): string => `${p.tenant}/files/${digestOf(content)}`;

/** The reads of a runner whose path names its agent, and those whose path names a resource of the agent. */
const pathsByAgent = ({ agent, importId, skill }: Furnished): string[] => [
  `${agent}/runtime`,
  `${agent}/skills/${skill}/package`,
  `${agent}/memory`,
  `${agent}/memory?q=two`,
  `${agent}/memory/${entryIdOf(importId, 1)}`,
  `${agent}/budget/usage`,
  `${agent}/sessions`,
];
const pathsByResource = ({ session, archive }: Furnished, name: string): string[] => [
  session,
  fileOf(`file of the session ${name}`),
  fileOf(`file of the mail ${name}`),
  fileOf(archive),
];
const pathsOf = (of: Furnished, name: string): string[] => [...pathsByAgent(of), ...pathsByResource(of, name)];

test('a runner reads what people have given its agent: memory, sessions with messages, files and budget', async () => {
  for (const path of pathsOf(one, 'one')) assert.is((await get(path, one.runner.key)).status, 200, path);
  const found = await get(`${one.agent}/memory?q=TWO`, one.runner.key);
  assert.equal(textsOf(found.body as Entry[]), ['one two']);
  const entry = await get(`${one.agent}/memory/${(found.body as Entry[])[0]!.id}`, one.runner.key);
  assert.equal(entry.body, (found.body as Entry[])[0]);
  const { messages } = (await get(one.session, one.runner.key)).body as { messages: Json[] };
  assert.equal(
    messages.map(({ content }) => content),
    ['Read one'],
  );
  assert.is((await get(fileOf('file of the session one'), one.runner.key)).text, 'file of the session one');
});

test('the runner of another agent gets the same answer for a resource of this agent as for an unknown one', async () => {
  const unknown = {
    ...one,
    agent: `${p.tenant}/agents/cmissing00000000000000000`,
    session: `${p.tenant}/sessions/cmissing00000000000000000`,
  };
  const withoutId = ({ status, text }: { status: number; text: string }) =>
    [status, text.replace(/"request_id":"[^"]*"/, '').replace(/"instance":"[^"]*"/, '')].join(' ');
  for (const key of [two.runner.key, stranger]) {
    const answers = await Promise.all(pathsOf(one, 'one').map((path) => get(path, key)));
    const expected = await Promise.all(pathsOf(unknown, 'never stored').map((path) => get(path, key)));
    for (const [index, answer] of answers.entries()) {
      const path = pathsOf(one, 'one')[index]!;
      if (path !== fileOf(one.archive)) assert.is(withoutId(answer), withoutId(expected[index]!), path);
      assert.ok(answer.status === 403 || answer.status === 404, `${path}: ${answer.status}`);
    }
  }
});

test('a file that several agents hold is read by the runner of each of them, and by no other runner', async () => {
  const content = 'a file of both';
  for (const { session } of [one, two]) await upload(`${session}/attachments`, { name: 'upload', content });
  const third = await runnerOf(await newAgent());
  const statuses = await Promise.all([one.runner.key, two.runner.key, third.key].map((key) => get(fileOf(content), key)));
  assert.equal(
    statuses.map(({ status }) => status),
    [200, 200, 404],
  );
});

test('a runner reads the archive of a skill only while its agent may use the skill', async () => {
  const paths = [fileOf(one.archive), `${one.agent}/skills/${one.skill}/package`];
  const status = async () => (await Promise.all(paths.map((path) => get(path, one.runner.key)))).map((answer) => answer.status);
  const grant = (is_enabled: boolean) => created(`${one.agent}/skills`, { skill_id: one.skill, is_enabled });
  assert.equal(await status(), [200, 200]);
  await grant(false);
  assert.equal(await status(), [404, 404]);
  await grant(true);
  assert.equal(await status(), [200, 200]);
});

type Runtime = {
  skills: { id: string; package_digest: string; files: Json[] }[];
  memory: { entries: number; digest: string; url: string };
};
const runtimeOf = async ({ agent, runner }: Furnished): Promise<Runtime> => {
  const { status, body, text } = await get(`${agent}/runtime`, runner.key);
  assert.is(status, 200, text);
  return body as Runtime;
};

test('the runtime lists the files of a skill, and the archive is sent as it was uploaded, with its digest as the ETag', async () => {
  const { agent, runner } = one;
  const archive = skillArchive('with-files', [
    { name: 'scripts/run.sh', content: 'echo run' },
    { name: 'empty.txt', content: '' },
  ]);
  const { id } = await upload(`${p.tenant}/skills/import`, { name: 'upload', content: archive });
  await created(`${agent}/skills`, { skill_id: id });
  const described = (await runtimeOf(one)).skills.find((skill) => skill.id === id)!;
  assert.is(described.package_digest, digestOf(archive));
  assert.equal(described.files.slice(1), [
    { path: 'scripts/run.sh', size_bytes: 8, sha256: digestOf('echo run') },
    { path: 'empty.txt', size_bytes: 0, sha256: digestOf('') },
  ]);
  const path = `${agent}/skills/${id}/package`;
  const response = await p.app.request(path, { headers: { authorization: `Bearer ${runner.key}` } });
  const received = Buffer.from(await response.arrayBuffer());
  assert.equal(received, archive);
  const { kept } = await unpackZip(received, { isKept: () => true, maxBytes: 1_000_000 });
  assert.equal(
    [...kept].map(([name, bytes]) => ({ path: name, size_bytes: bytes.length, sha256: digestOf(bytes) })),
    described.files,
  );
  const etag = response.headers.get('etag')!;
  assert.equal([etag, response.headers.get('content-type')], [`"${digestOf(archive)}"`, 'application/zip']);
  assert.is((await p.send('GET', path, { key: runner.key, headers: { 'if-none-match': etag } })).status, 304);
  assert.is((await p.send('GET', path)).status, 403, 'a person');
  const written = (await created(`${p.tenant}/skills`, { name: 'W', slug: 'w', description: 'd', instructions: 'i' })).id;
  await created(`${agent}/skills`, { skill_id: written });
  const without = await get(`${agent}/skills/${written}/package`, runner.key);
  assert.is(without.status, 404);
  assert.match(without.text, /not imported from an archive/);
  const disclosed = p.eventsOf('RuntimeDisclosed').at(-1)!.data as unknown as { skills: Json[] };
  assert.ok(disclosed.skills.some(({ skill_id, package_digest }) => skill_id === id && package_digest === digestOf(archive)));
});

test('a runner gets the rest of the runtime while the archive of a skill cannot be read', async () => {
  const content = skillArchive('unreadable');
  const { id } = await upload(`${p.tenant}/skills/import`, { name: 'upload', content });
  await created(`${one.agent}/skills`, { skill_id: id });
  rmSync(join(p.dataDirectory, 'blobs'), { recursive: true });
  const described = (await runtimeOf(one)).skills.find((skill) => skill.id === id)!;
  assert.equal([described.package_digest, described.files], [digestOf(content), null]);
});

test('a runner gets the rest of the runtime while the read models are down or behind, also if it sends a Consistency-Token', async () => {
  const agent = await furnishedAgent('down');
  const { headers } = await p.send('PATCH', agent.agent, { body: { description: 'changed' } });
  const token = { 'consistency-token': headers.get('consistency-token')! };
  const { rows, passed } = p.reads;
  const unavailable = async (): Promise<never> => {
    throw new Refusal('unavailable', 'The read models cannot be reached');
  };
  Object.assign(p.reads, { rows: unavailable, passed: unavailable });
  const answers = await Promise.all(
    [{}, token].map((sent) => p.send('GET', `${agent.agent}/runtime`, { key: agent.runner.key, headers: sent })),
  );
  Object.assign(p.reads, { rows, passed });
  for (const { status, body, text } of answers) {
    assert.is(status, 200, text);
    assert.equal([(body as Json).memory, ((body as Json).skills as Json[])[0]!.id], [null, agent.skill]);
  }
});

test('the digest of the memory in the runtime changes with every import and every undoing, and with nothing else', async () => {
  const agent = await furnishedAgent('digest');
  const summaries = [(await runtimeOf(agent)).memory, (await runtimeOf(agent)).memory];
  const more = await imported(agent.id, linesOf('more'), 'more.jsonl');
  summaries.push((await runtimeOf(agent)).memory);
  await p.send('DELETE', `${memoryOf(agent.id)}/imports/${more}`);
  summaries.push((await runtimeOf(agent)).memory);
  assert.equal(
    summaries.map(({ entries }) => entries),
    [3, 3, 4, 3],
  );
  assert.is(new Set(summaries.map(({ digest }) => digest)).size, 3);
  assert.is(summaries[0]!.digest, summaries[1]!.digest);
  assert.is(summaries[0]!.url, `http://annals.test${memoryOf(agent.id)}`);
});

test('a runner reads neither imported files of the memory nor what is not of its agent', async () => {
  const paths = [
    fileOf(linesOf('one one', 'one two', 'one three')),
    `${p.tenant}/agents`,
    `${p.tenant}/skills`,
    `/v1/tenants/${p.tenant_id}/sessions`,
    `${one.agent}/messages`,
    `${one.agent}/history`,
    `${one.agent}/skills`,
  ];
  const statuses = await Promise.all(paths.map((path) => get(path, one.runner.key)));
  assert.equal(
    statuses.map(({ status }) => status),
    [404, 403, 403, 403, 403, 403, 403],
  );
  assert.is((await p.send('DELETE', `${memoryOf(one.id)}/imports/${one.importId}`, { key: one.runner.key })).status, 403);
});

const disclosedTo = (key_id: string): unknown[] =>
  p
    .eventsOf('MemoryDisclosed')
    .filter(({ actor }) => actor.kind === 'agent' && actor.key_id === key_id)
    .map(({ data }) => (data as Json).entries);

test('what a runner reads of its memory is recorded at its first read of an hour, and for later reads when the hour is over', async () => {
  const { agent, id } = await furnishedAgent('read');
  const { id: keyId, key } = await runnerOf(id);
  for (const path of ['?limit=2', '', '?q=nothing']) assert.is((await get(`${agent}/memory${path}`, key)).status, 200);
  assert.equal(disclosedTo(keyId), [2]);
  assert.is((await p.send('GET', `${agent}/memory`)).status, 200, 'a person reads it');
  const { now } = p.clock;
  p.clock.now = () => now() + 3_600_000;
  assert.is((await get(`${agent}/memory?limit=1`, key)).status, 200);
  p.clock.now = now;
  await p.recordPending();
  assert.equal(disclosedTo(keyId).sort(), [1, 2, 3]);
  const [entry] = (await p.send('GET', `${p.tenant}/audit-logs?action=memory.disclosed`)).body as Json[];
  assert.equal([entry!.resource_type, entry!.resource_id, entry!.agent_id, (entry!.actor as Json).key_id], ['agent', id, id, keyId]);
  assert.match(String(entry!.summary), /read \d entries of the memory of the agent/);
});

const deliveryBodyOf = async (agent_id: string): Promise<string> => {
  const secret = 'a secret of more than 24 bytes';
  const { id } = await created(`${p.tenant}/webhook-integrations`, { provider: 'github', agent_id, label: 'L', secret });
  const raw = '{"zen":"Keep it simple"}';
  const headers = { 'x-github-delivery': agent_id, 'x-github-event': 'ping', 'x-hub-signature-256': sign(raw, secret) };
  const { body, text } = await p.send('POST', `/hooks/inbound/${id}`, { key: '', raw, headers });
  assert.ok((body as Json).id, text);
  return `${p.tenant}/deliveries/${(body as Json).id}/body`;
};

test('the access of a runner ends when the key is revoked, the tenant is suspended, or the agent is deleted', async () => {
  const gone = await furnishedAgent('gone');
  const spare = await runnerOf(gone.id);
  const paths = [...pathsOf(gone, 'gone'), await deliveryBodyOf(gone.id)];
  const statuses = async (key: string): Promise<number[]> =>
    (await Promise.all(paths.map((path) => get(path, key)))).map(({ status }) => status);
  const all = (status: number): number[] => paths.map(() => status);
  assert.equal(await statuses(spare.key), all(200));
  assert.is((await p.send('DELETE', `${gone.agent}/runner-keys/${spare.id}`)).status, 204);
  assert.equal(await statuses(spare.key), all(401));
  assert.is((await p.send('POST', `/admin/tenants/${p.tenant_id}/suspend`, { body: { reason: 'why' } })).status, 200);
  assert.equal(await statuses(gone.runner.key), all(403));
  assert.is((await p.send('POST', `/admin/tenants/${p.tenant_id}/resume`, { body: { reason: 'why' } })).status, 200);
  const before = new Date().toISOString();
  assert.equal(await statuses(gone.runner.key), all(200));
  assert.is((await p.send('DELETE', gone.agent)).status, 204);
  assert.equal(await statuses(gone.runner.key), all(404));
  assert.is((await get(`${gone.session}?as_of=${before}`, gone.runner.key)).status, 404);
});

afterLastTest(() => p.close());

test.run();
