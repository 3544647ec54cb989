import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkExport } from '../../api/console/browser/export-check.mjs';
import { describeVerification, verifyAuditExport } from '../../infra/audit/verify-audit-export.mjs';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { contentsOf, linesIn } from '../fixtures/export-edits.ts';
import { fileOf } from '../fixtures/made-export.ts';
import { runExport } from '../fixtures/run-export.ts';
import { serveApp } from '../fixtures/serve-app.ts';
import { signAuditHeads } from '../fixtures/sign-audit-heads.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

const p = await createTestPlatform();
const home = await createSecondTenant(p, 'home');
const server = await serveApp(p);
const { dir } = createTempDirectory();
const auditor = await addMember(p, 'AUDITOR', home.id, 'auditor@example.com');

type Entry = { readonly id: string; readonly created_at: string; readonly resource_id: string; readonly user_id: string | null };

const get = async <T>(path: string): Promise<T> => {
  const { status, body, text } = await p.send('GET', `${home.tenant}${path}`, { key: auditor.key });
  assert.is(status, 200, text);
  return body as T;
};

const agents: string[] = [];
/** Creates agents at another time than the ones before, and signs a head over all entries. */
const createAgents = async (count: number, day: string): Promise<void> => {
  p.clock.now = () => Date.parse(`2027-11-${day}T12:00:00Z`);
  for (let index = 0; index < count; index++) {
    const { status, body, text } = await p.send('POST', `${home.tenant}/agents`, {
      key: home.key,
      body: { name: 'Agent', slug: `agent-${agents.length}` },
    });
    assert.is(status, 201, text);
    agents.push((body as Entry).id);
  }
  await p.waitForProjections();
  assert.is(await signAuditHeads(p, [home.id]), 1);
};

const newFile = (): string => join(dir, `${crypto.randomUUID()}.jsonl`);
const written = (bytes: string | Buffer): string => {
  const file = newFile();
  writeFileSync(file, bytes);
  return file;
};

const exported = async (filter: Record<string, string>): Promise<string> => {
  const { status, text } = await p.send('GET', `${home.tenant}/audit-logs/export?${new URLSearchParams({ ...filter, format: 'proofs' })}`, {
    key: auditor.key,
  });
  assert.is(status, 200, text);
  return text;
};

test('before the first head is signed, an export with proofs is refused', async () => {
  await p.waitForProjections();
  const { status, text } = await p.send('GET', `${home.tenant}/audit-logs/export?format=proofs`, { key: auditor.key });
  assert.is(status, 404);
  assert.match(text, 'No head of the audit log is signed yet');
});

test('every selection can be exported with proofs, and verifies with the same script and in the browser', async () => {
  for (const [count, day] of [
    [5, '27'],
    [3, '28'],
    [4, '29'],
  ] as const)
    await createAgents(count, day);
  const [entry] = await get<Entry[]>('/audit-logs?action=agent.created&limit=1');
  const selections: Readonly<Record<string, Record<string, string>>> = {
    everything: {},
    'a period': { from: '2027-11-28T00:00:00Z', to: '2027-11-29T00:00:00Z' },
    'an action': { action: 'agent.created' },
    'a kind of action': { action: 'agent.*' },
    'an agent': { agent_id: agents[1]! },
    'a person': { user_id: entry!.user_id! },
    'a resource': { resource_type: 'agent', resource_id: agents[7]! },
    'an action of an agent in a period': { action: 'agent.created', agent_id: agents[6]!, from: '2027-11-28T00:00:00Z' },
  };
  for (const [what, filter] of Object.entries(selections)) {
    const listed = await get<Entry[]>(`/audit-logs?${new URLSearchParams({ ...filter, limit: '200' })}`);
    const file = written(await exported(filter));
    const found = await verifyAuditExport(file);
    assert.equal([found.problems, found.ok, found.is_selection], [[], true, true], what);
    assert.equal((await checkExport(readFileSync(file))).problems, [], what);
    const ids = contentsOf(linesIn(file)).flatMap(({ kind, text }) => (kind === 'event' ? [(JSON.parse(text) as Entry).id] : []));
    const covered = listed.map(({ id }) => id).filter((id) => ids.includes(id));
    assert.equal([...ids].sort(), covered.sort(), what);
    assert.ok(listed.length - ids.length <= 1, `${what}: only the newest entry can be without a head`);
  }
});

test('a selection is compared with the anchored heads and the known key', async () => {
  const heads = await get<{ key_id: string; size: number }[]>('/audit-logs/heads?sort=size');
  const file = written(await exported({ from: '2027-11-28T00:00:00Z' }));
  const anchors = written(heads.map((head) => JSON.stringify({ tenant_id: home.id, ...head })).join('\n'));
  assert.equal((await verifyAuditExport(file, { key: heads[0]!.key_id, anchors })).problems, []);
  assert.not((await verifyAuditExport(file, { key: 'another' })).ok);
  const first = written(JSON.stringify({ tenant_id: home.id, ...heads[0] }));
  assert.match(describeVerification(await verifyAuditExport(file, { anchors: first })).join(), 'none of the anchored heads');
});

test('a selection in which an entry, a proof or a head was edited, removed, moved or repeated does not verify', async () => {
  const contents = contentsOf(linesIn(written(await exported({ from: '2027-11-28T00:00:00Z', to: '2027-11-30T00:00:00Z' }))));
  const at = (kind: string, number: number): number => contents.flatMap((one, index) => (one.kind === kind ? [index] : []))[number]!;
  for (const kind of ['manifest', 'key', 'event', 'proof', 'head'] as const)
    for (const number of ['manifest', 'key'].includes(kind) ? [0] : [0, 1]) {
      const index = at(kind, number);
      const edits = {
        edited: contents.with(index, {
          kind,
          text: contents[index]!.text.replace(/\d/, (digit) => String((Number(digit) + 1) % 10)),
        }),
        removed: contents.toSpliced(index, 1),
        moved: contents.toSpliced(index, 1).toSpliced(index + 1, 0, contents[index]!),
        repeated: contents.toSpliced(index, 0, contents[index]!),
      };
      for (const [what, changed] of Object.entries(edits)) {
        if (kind === 'manifest' && what === 'edited') continue;
        const file = written(fileOf(changed));
        assert.not((await verifyAuditExport(file)).ok, `${kind} ${number} ${what}`);
        assert.not.equal((await checkExport(readFileSync(file))).problems, [], `${kind} ${number} ${what}, in the browser`);
      }
    }
  const period = contents[0]!.text.replace('2027-11-28T00', '2027-11-29T00');
  assert.not((await verifyAuditExport(written(fileOf(contents.with(0, { kind: 'manifest', text: period }))))).ok, 'another period');
});

test('annals export with a period or another filter writes the file with proofs and verifies it', async () => {
  const file = newFile();
  const options = { tenant: undefined, wait: false, url: server.url, key: auditor.key };
  const { code, lines } = await runExport({ ...options, to: file, filter: { action: 'agent.created' } });
  assert.equal([code, lines[0]], [0, `ok: 12 selected entries of the tenant ${home.id}, under 3 signed heads`]);
  const none = await runExport({ ...options, to: newFile(), filter: { action: 'nothing' } });
  assert.equal([none.code, none.lines[0]], [3, 'nothing to verify: the file has no entries']);
  const refused = await runExport({ ...options, to: newFile(), filter: { from: 'yesterday' } }).catch((error: Error) => error.message);
  assert.match(String(refused), '/query/from');
  const { data } = p.eventsOf('AuditExported').at(-1)!;
  assert.match(JSON.stringify(data), '"format":"proofs"');
});

afterLastTest(async () => {
  await Promise.all([server.close(), p.close()]);
});

test.run();
