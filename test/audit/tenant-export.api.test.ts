// share, limit: 300
import { spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync, hash, sign as signBytes } from 'node:crypto';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type AuditHeadFields, signedText } from '../../domain/audit/audit-head.ts';
import { peaksOf, rootOf } from '../../domain/audit/merkle-tree.ts';
import { rotateSigningKey } from '../../infra/audit/signing-key.ts';
import { digestOf, verifyAuditExport } from '../../infra/audit/verify-audit-export.mjs';
import { exportTenant } from '../../infra/cli/audit/export-tenant.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { bareEnvironment, mainFile } from '../fixtures/child-process.ts';
import { contentsOf, type EditedExport, editExport, editWithCare, linesIn, seededRandom, writeAgain } from '../fixtures/export-edits.ts';
import { serveApp } from '../fixtures/serve-app.ts';
import { openShare } from '../fixtures/share.ts';
import { signAuditHeads } from '../fixtures/sign-audit-heads.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

const share = openShare();
const p = await createTestPlatform();
const home = await createSecondTenant(p, 'home');
const server = await serveApp(p);
const { dir } = createTempDirectory();
const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Creates agents with a description that has non-ASCII characters, and signs an audit log head over all entries. */
const createAgents = async (count: number): Promise<void> => {
  for (let index = 0; index < count; index++) {
    const body = { name: 'Agent', description: 'Prüft 🔎', slug: `agent-${p.log.events.length}` };
    assert.is((await p.send('POST', `${home.tenant}/agents`, { key: home.key, body })).status, 201);
  }
  await p.waitForProjections();
  assert.is(await signAuditHeads(p, [home.id]), 1);
};

/** Runs the export command. @returns its exit code and the lines that it prints */
const run = async (to: string, { key = home.key, tenant, wait = false }: { key?: string; tenant?: string; wait?: boolean } = {}) => {
  const lines: string[] = [];
  const { log } = console;
  console.log = (line: string) => void lines.push(line);
  try {
    return { code: await exportTenant({ tenant, to, wait, url: server.url, key }), lines };
  } finally {
    console.log = log;
  }
};

const newFile = (): string => join(dir, `${crypto.randomUUID()}.jsonl`);

const exported = newFile();

test("before the first head of a tenant's audit log is signed, annals export of the audit log fails and leaves no file", async () => {
  const file = newFile();
  const message = await run(file).catch((error: Error) => error.message);
  assert.match(String(message), 'no head of this tenant is signed yet');
  assert.equal(readdirSync(dir), []);
});

test('after a rotation of the signing key, an export has all events and heads and both keys, and verifies', async () => {
  await createAgents(12);
  await createAgents(7);
  await rotateSigningKey(p);
  await createAgents(20);
  const at = (await p.send('GET', `${home.tenant}/audit-logs/heads?limit=1`, { key: home.key })).body as AuditHeadFields[];
  await p.send('PATCH', home.tenant, { key: home.key, body: { name: 'After the head' } });
  const { code, lines } = await run(exported);
  assert.is(code, 0, lines.join('\n'));
  assert.match(lines[0]!, `ok: ${at[0]!.size} entries of the tenant ${home.id}, under 3 signed heads`);
  const contents = contentsOf(linesIn(exported));
  const shown = await p.send('GET', `${home.tenant}/events?limit=200`, { key: home.key });
  const texts = shown.text.slice(1, -1).split(',\n').slice(0, at[0]!.size);
  assert.equal(
    contents.filter(({ kind }) => kind === 'event').map(({ text }) => text),
    texts,
  );
  assert.is(contents.filter(({ kind }) => kind === 'key').length, 2);
  const [entry] = contents.filter(({ kind }) => kind === 'event').slice(-1);
  assert.not(entry!.text.includes('After the head'));
});

test('an export with the option to wait also contains the newest event, although no signed head covered that event when the export started', async () => {
  await p.send('PATCH', home.tenant, { key: home.key, body: { name: 'Waited for' } });
  await p.waitForProjections();
  const [file, before] = [newFile(), server.requests.length];
  const exporting = run(file, { wait: true });
  while (!server.requests.slice(before).some((path) => path.includes('/audit-logs/heads'))) await setTimeout(20);
  await signAuditHeads(p, [home.id]);
  assert.is((await exporting).code, 0);
  assert.ok(linesIn(file).some((line) => line.includes('Waited for')));
});

test('the command that exports an audit log reads the events from the API in pages', async () => {
  const batches = Array.from({ length: 5 }, (_, batch) => batch);
  const meta = { tenant: home.id, actor: { kind: 'system', id: 'test' } as const, at: new Date().toISOString(), v: 1 };
  for (const batch of batches)
    await p.log.append(
      `agent-${home.id}.bulk${batch}`,
      'none',
      Array.from({ length: 100 }, () => ({ id: crypto.randomUUID(), type: 'AgentUpdated', data: {}, meta })),
    );
  await p.waitForProjections();
  await signAuditHeads(p, [home.id]);
  const [file, before] = [newFile(), server.requests.length];
  const { code, lines } = await run(file);
  assert.is(code, 0, lines.join('\n'));
  assert.ok(server.requests.slice(before).filter((path) => path.includes('/events?')).length >= 3);
  assert.ok(linesIn(file).length > 500);
});

const verifyEdited = async ({ bytes }: Pick<EditedExport, 'bytes'>) => {
  const file = join(dir, 'edited.jsonl');
  writeFileSync(file, bytes);
  return verifyAuditExport(file);
};

const SEEDS = Array.from({ length: 1_000 }, (_, index) => index + 1);

/** Edits exports and verifies each. @returns the edits that the verifier did not detect in the edited lines */
const undetected = async (edit: (random: (limit: number) => number) => EditedExport): Promise<string[]> => {
  const missed: string[] = [];
  for (const seed of share.casesOf(SEEDS, String)) {
    const edited = edit(seededRandom(seed));
    const { ok, problems } = await verifyEdited(edited);
    const isNamed = problems.some(({ line, last_line }) => line <= edited.to && last_line >= edited.from && last_line - line <= 25);
    if (ok || !isNamed) missed.push(`seed ${seed}: ${edited.what}: ${JSON.stringify(problems.slice(0, 3))}`);
  }
  return missed;
};

share.test(
  'the verifier detects each of up to 1,000 random edits, deletions, moves, copies and truncations of an export, and names the line of each',
  async () => {
    const lines = linesIn(exported);
    const isSame = (edited: EditedExport): boolean => edited.bytes.equals(readFileSync(exported));
    assert.equal(
      await undetected((random) => {
        const edited = editExport(lines, random);
        return isSame(edited) ? editExport(lines, random) : edited;
      }),
      [],
    );
  },
);

share.test(
  'if entries of an export were edited and its numbers and digests corrected, the verifier reports a wrong signed root hash',
  async () => {
    const lines = linesIn(exported);
    assert.equal(await undetected((random) => editWithCare(lines, random, sha256Of)), []);
  },
);

test('the verifier detects an edited head, key or manifest of an export, even if the digest of the edited part was corrected', async () => {
  const contents = contentsOf(linesIn(exported));
  const replaced = (kind: string, edit: (content: Record<string, unknown>) => object, number = 0): Buffer => {
    const at = contents.flatMap((one, index) => (one.kind === kind ? [index] : []))[number]!;
    const text = JSON.stringify(edit(JSON.parse(contents[at]!.text)));
    return writeAgain(contents.with(at, { ...contents[at]!, text }), sha256Of);
  };
  const later = (value: unknown): string => String(value).replace(/\d/, (digit) => String((Number(digit) + 1) % 10));
  const cases: [string, Buffer][] = [
    ['size', replaced('head', (head) => ({ ...head, size: Number(head.size) + 1 }))],
    ['root', replaced('head', (head) => ({ ...head, root: digestOf('other') }))],
    ['position', replaced('head', (head) => ({ ...head, position: later(head.position) }), 1)],
    ['time', replaced('head', (head) => ({ ...head, at: later(head.at) }), 2)],
    ['signature', replaced('head', (head) => ({ ...head, signature: Buffer.alloc(64).toString('base64url') }))],
    ['key of the head', replaced('head', (head) => ({ ...head, key_id: digestOf('other') }))],
    ['peaks', replaced('head', (head) => ({ ...head, peaks: [digestOf('other')] }), 1)],
    ['tenant', replaced('manifest', (manifest) => ({ ...manifest, tenant_id: p.tenant_id }))],
    ['entries', replaced('manifest', (manifest) => ({ ...manifest, entries: 3 }))],
    ['format', replaced('manifest', (manifest) => ({ ...manifest, format: 'annals export v0' }))],
    ['public key', replaced('key', (key) => ({ ...key, public_key: digestOf('other') }))],
    ['cross signature', replaced('key', (key) => ({ ...key, cross_signature: null }), 1)],
    [
      'first key missing',
      writeAgain(
        contents.filter(({ kind }, index) => kind !== 'key' || contents[index + 1]!.kind !== 'key'),
        sha256Of,
      ),
    ],
    [
      'last head missing',
      writeAgain(
        contents.filter(({ kind }, index) => kind !== 'head' || contents[index + 1]!.kind !== 'end'),
        sha256Of,
      ),
    ],
  ];
  for (const [what, bytes] of cases) assert.not((await verifyEdited({ bytes })).ok, what);
});

/** Forges a history of the same tenant, with changed events and signatures by another key. */
const forge = (): Buffer => {
  const contents = contentsOf(linesIn(exported));
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const public_key = publicKey.export({ format: 'jwk' }).x!;
  const key_id = hash('sha256', JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x: public_key }), 'base64url');
  const texts = contents.filter(({ kind }) => kind === 'event').map(({ text }) => text.replace('Prüft', 'Fälscht'));
  const end = { size: 0, peaks: [], leaves: texts.map(digestOf) };
  const { position } = JSON.parse(texts.at(-1)!) as { position: string };
  const head = { version: 2, size: texts.length, root: rootOf(end), position, at: new Date().toISOString() } as const;
  const signature = signBytes(null, Buffer.from(signedText(home.id, head)), privateKey).toString('base64url');
  const manifest = { format: 'annals export v2', tenant_id: home.id, entries: head.size, root: head.root, position };
  const texted = (kind: 'manifest' | 'key' | 'head', content: object) => ({ kind, text: JSON.stringify(content) });
  return writeAgain(
    [
      texted('manifest', manifest),
      texted('key', { key_id, public_key, cross_signature: null }),
      ...texts.map((text) => ({ kind: 'event' as const, text })),
      texted('head', { ...head, signature, key_id, peaks: peaksOf(end) }),
    ],
    sha256Of,
  );
};

test('if the verifier gets the id of the right signing key or the anchored heads, it detects a history that was forged and signed with another key', async () => {
  const [file, anchors] = [join(dir, 'forged.jsonl'), join(dir, 'anchors.jsonl')];
  writeFileSync(file, forge());
  const heads = (await p.send('GET', `${home.tenant}/audit-logs/heads?sort=size`, { key: home.key })).body as AuditHeadFields[];
  const posted = heads.slice(0, 3).map((head) => JSON.stringify({ tenant_id: home.id, ...head }));
  writeFileSync(anchors, `${posted.join('\n')}\n`);
  const { key_id } = heads[0]!;
  assert.ok((await verifyAuditExport(file)).ok, 'the forgery is consistent in itself');
  assert.not((await verifyAuditExport(file, { key: key_id })).ok);
  const found = await verifyAuditExport(file, { anchors });
  assert.match(found.problems.map(({ text }) => text).join(), 'another root than the anchored head over them');
  assert.ok((await verifyAuditExport(exported, { key: key_id, anchors })).ok);
  assert.ok((await verifyAuditExport(exported, { key: heads[2]!.key_id, anchors })).ok, 'the key of the newest head');
});

test('verifying an older export against a newer anchored head is refused', async () => {
  const anchors = join(dir, 'newer.jsonl');
  writeFileSync(anchors, JSON.stringify({ tenant_id: home.id, size: 10_000, root: digestOf('') }));
  const { problems } = await verifyAuditExport(exported, { anchors });
  assert.match(problems.at(-1)!.text, 'a head over 10000 entries was anchored, but the file ends before it');
});

/** Runs a program with these arguments. @returns its exit code and everything that it prints */
const program = (file: string, ...words: string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...words], { encoding: 'utf8', env: bareEnvironment(), cwd: dir });
  return { code: status, output: stdout + stderr };
};

test('the verifier is a single file: a copy of this file in an empty directory gives the same results as annals verify --audit', () => {
  const copy = join(dir, 'verify-audit-export.mjs');
  copyFileSync(join(import.meta.dirname, '../../infra/audit/verify-audit-export.mjs'), copy);
  const changed = join(dir, 'changed.jsonl');
  writeFileSync(changed, readFileSync(exported, 'utf8').replace('Prüft', 'Prüfe'));
  const line = linesIn(exported).findIndex((one) => one.includes('Prüft')) + 1;
  const runs = (...words: string[]) => [program(copy, ...words), program(mainFile, 'verify', '--audit', ...words)];
  for (const { code, output } of runs(exported)) assert.equal([code, output.startsWith('ok: ')], [0, true], output);
  for (const { code, output } of runs(changed))
    assert.equal([code, output.split('\n')[0]], [1, `line ${line}: the event does not match its digest: it was changed`]);
  for (const { code, output } of runs('missing.jsonl')) assert.equal([code, output.includes('missing.jsonl')], [2, true], output);
  for (const { code } of runs(exported, '--unknown', 'x')) assert.is(code, 2);
  assert.match(program(mainFile, 'verify', '--key', 'x').output, '--key and --anchors need --audit');
});

test('an export does not overwrite an existing file, and a failed export leaves no file', async () => {
  const before = readFileSync(exported);
  const said = String(await run(exported).catch((error: Error) => error.message));
  assert.ok(said.includes('exists already'), said);
  assert.equal(readFileSync(exported), before);
  const [file, files] = [newFile(), readdirSync(dir)];
  const { key } = await addMember(p, 'MEMBER', home.id, 'member@example.com');
  assert.match(String(await run(file, { key }).catch((error: Error) => error.message)), 'permission');
  assert.equal(readdirSync(dir), files);
});

test("an AUDITOR can export the tenant's audit log, and a super-admin only with break-glass access; each read that the export makes is recorded", async () => {
  const { key } = await addMember(p, 'AUDITOR', home.id, 'auditor@example.com');
  assert.is((await run(newFile(), { key })).code, 0);
  const [file, files] = [newFile(), readdirSync(dir)];
  const asSuperAdmin = () => run(file, { key: p.key, tenant: home.id });
  const refused = await asSuperAdmin().catch((error: Error & { code: string }) => error.code);
  assert.is(refused, 'forbidden');
  assert.equal(readdirSync(dir), files);
  const opened = await p.send('POST', `/admin${home.tenant.replace('/tenant', '/tenants')}/break-glass`, {
    body: { reason: 'Audit', minutes: 5 },
  });
  assert.is(opened.status, 201, opened.text);
  const recorded = (): number => p.eventsOf('SuperAdminRead').filter(({ meta }) => meta.tenant === home.id).length;
  const before = recorded();
  assert.is((await asSuperAdmin()).code, 0);
  assert.ok(recorded() - before >= 5, 'heads, keys, and pages of events');
});

afterLastTest(async () => {
  p.allowUnappliedEvents();
  await Promise.all([server.close(), p.close()]);
});

test.run();
