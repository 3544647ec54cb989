// share
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkExport } from '../../api/console/browser/export-check.mjs';
import { checkProof } from '../../api/console/browser/proof-check.mjs';
import type { AuditHeadFields } from '../../domain/audit/audit-head.ts';
import type { LeafRuleChange } from '../../domain/audit/leaf-rule.ts';
import { leafHash } from '../../domain/audit/merkle-tree.ts';
import { type RecordedEvent, recordedEventText } from '../../domain/audit/recorded-event.ts';
import { tokenOf } from '../../domain/event.ts';
import { describeVerification, verifyAuditExport } from '../../infra/audit/verify-audit-export.mjs';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { entriesOf, signEarlierHead } from '../fixtures/earlier-heads.ts';
import { contentsOf, linesIn, writeAgain } from '../fixtures/export-edits.ts';
import { runExport } from '../fixtures/run-export.ts';
import { serveApp } from '../fixtures/serve-app.ts';
import { openShare } from '../fixtures/share.ts';
import { signAuditHeads } from '../fixtures/sign-audit-heads.ts';
import { storedEvents } from '../fixtures/stored-events.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';

const share = openShare();
const p = await createTestPlatform();
const home = await createSecondTenant(p, 'home');
const server = await serveApp(p);
const { dir } = createTempDirectory();
const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

type Head = AuditHeadFields & { readonly version: number; readonly previous_size: number };
type Proof = { readonly leaf: string; readonly index: number; readonly size: number; readonly path: string[]; readonly head: Head };

const get = async <T>(path: string): Promise<T> => {
  const { status, body, text } = await p.send('GET', `${home.tenant}${path}`, { key: home.key });
  assert.is(status, 200, text);
  return body as T;
};

/** Appends the stored events of every type as events of the tenant, in streams that no other event has. */
const appendEveryType = async (): Promise<void> => {
  const next = new Map<string, number>();
  for (const { stream, event_id: id, type, data, meta } of storedEvents) {
    const revision = next.get(stream) ?? 0;
    await p.log.append(`${stream}x`, revision === 0 ? 'none' : revision - 1, [{ id, type, data, meta: { ...meta, tenant: home.id } }]);
    next.set(stream, revision + 1);
  }
  await p.waitForProjections();
};

const exported = async (): Promise<{ file: string; code: number; lines: string[] }> => {
  const file = join(dir, `${crypto.randomUUID()}.jsonl`);
  const { code, lines } = await runExport({ tenant: undefined, to: file, wait: false, url: server.url, key: home.key });
  return { file, code, lines };
};

const written = (bytes: string | Buffer): string => {
  const file = join(dir, `${crypto.randomUUID()}.jsonl`);
  writeFileSync(file, bytes);
  return file;
};

/** The heads of version 1, in the form in which they were posted to AUDIT_ANCHOR_URL. */
const anchors: string[] = [];

test('an export of a platform with heads of version 1 verifies, and says how many contents no head covers', async () => {
  await appendEveryType();
  const first = await signEarlierHead(p, home.id);
  await p.send('PATCH', home.tenant, { key: home.key, body: { name: 'Renamed' } });
  await p.waitForProjections();
  const last = await signEarlierHead(p, home.id);
  anchors.push(...[first, last].map((head) => JSON.stringify({ tenant_id: home.id, ...head })));
  const texts = (await p.send('GET', `${home.tenant}/events?limit=200`, { key: home.key })).text;
  assert.ok(texts.length > 0);
  const entries = entriesOf(p, home.id);
  const keys = await get<object[]>('/audit-logs/keys');
  const lineOf = (kind: 'manifest' | 'key' | 'head', content: object) => ({ kind, text: JSON.stringify(content) });
  const events = entries.map((event) => ({ kind: 'event' as const, text: recordedEventText(event) }));
  const { size, root, position } = last;
  const contents = [
    lineOf('manifest', { format: 'annals export v1', tenant_id: home.id, entries: size, root, position }),
    ...keys.map((key) => lineOf('key', key)),
    ...events.slice(0, first.size),
    lineOf('head', first),
    ...events.slice(first.size),
    lineOf('head', last),
  ];
  const earlierFile = written(writeAgain(contents, sha256Of));
  const found = await verifyAuditExport(earlierFile);
  assert.equal([found.ok, found.problems, found.uncovered_contents], [true, [], 13]);
  assert.match(describeVerification(found).join('\n'), 'no head covers the contents of 13 of these entries');
  const inBrowser = await checkExport(readFileSync(earlierFile));
  assert.equal([inBrowser.problems, inBrowser.uncovered_contents], [[], 13]);
});

test('a platform with heads of version 1 records why its tree starts again, and signs heads over all entries', async () => {
  assert.equal(await get('/audit-logs/heads'), [], 'no head of version 2');
  assert.is(await signAuditHeads(p, [home.id]), 0);
  await p.waitForProjections();
  const [rule] = p.eventsOf('AuditLeafRuleChanged').filter(({ stream }) => stream === `auditrule-${home.id}.${home.id}`);
  const last = (await get<Head[]>('/audit-logs/heads?version=1'))[0]!;
  const change = rule!.data as LeafRuleChange;
  assert.equal([change.size, change.root, change.key_id], [last.size, last.root, last.key_id]);
  assert.is(await signAuditHeads(p, [home.id]), 1);
  const [head, ...others] = await get<Head[]>('/audit-logs/heads');
  assert.equal([others.length, head!.version, head!.previous_size, head!.position], [0, 2, 0, tokenOf(rule!.position)]);
  assert.is(await signAuditHeads(p, [home.id]), 0);
  const [entry] = await get<{ action: string; summary: string }[]>(
    '/audit-logs?action=audit.leaf_rule_changed&resource_type=tenant&limit=1',
  );
  assert.match(entry!.summary, 'the bodies of deliveries');
  assert.is((await p.send('GET', `${home.tenant}/audit-logs/heads?version=3`, { key: home.key })).status, 422);
});

share.test('for every event type, the proof, the export, the event and the check in the browser have the same leaf', async () => {
  const { file, code, lines } = await exported();
  assert.is(code, 0, lines.join('\n'));
  assert.equal((await checkExport(readFileSync(file))).problems, []);
  const digests = linesIn(file).flatMap((line) => /^\{"line":\d+,"digest":"([^"]*)","event":/.exec(line.toString())?.[1] ?? []);
  const entries = entriesOf(p, home.id);
  assert.is(digests.length, entries.length);
  const keys = await get<[]>('/audit-logs/keys');
  const firsts = [...Map.groupBy(entries, ({ type }) => type).values()].map(([first]) => first!);
  assert.ok(firsts.length > 200, `${firsts.length} types`);
  const tried = share.casesOf(
    firsts,
    ({ type }) => type,
    ({ data }) => String(data instanceof Uint8Array),
  );
  for (const { type, event_id, position } of tried) {
    const index = entries.findIndex((entry) => entry.event_id === event_id);
    const at = tokenOf(position);
    const { text } = await p.send('GET', `${home.tenant}/events?from_position=${at}&to_position=${at}`, { key: home.key });
    const proof = await get<Proof>(`/audit-logs/proof?position=${at}`);
    const detail = await get<RecordedEvent>(`/events/${event_id}`);
    const { id, stream, revision, type: name, at: time, data, metadata } = detail;
    const leaf = leafHash(JSON.stringify({ id, stream, revision, position: detail.position, type: name, at: time, data, metadata }));
    assert.equal([proof.leaf, digests[proof.index], proof.index], [leaf, leaf, index], type);
    assert.is(await checkProof({ tenant_id: home.id, event_id, position: at }, { text: text.slice(1, -1), proof, keys }), null, type);
  }
});

test('anchored heads of version 1 stay verifiable, and the verifier says what only later heads cover', async () => {
  const { file } = await exported();
  const found = await verifyAuditExport(file, { anchors: written(anchors.join('\n')) });
  assert.equal([found.ok, found.problems, found.heads], [true, [], 3]);
  assert.equal([found.uncovered_contents, found.later_covered_contents], [0, 13]);
  assert.match(describeVerification(found).join('\n'), 'only heads of version 2 cover the contents of 13');
});

test('heads of version 2 detect a replaced content, whatever the export says about the earlier rule', async () => {
  const { file } = await exported();
  const contents = contentsOf(linesIn(file));
  const at = contents.findIndex(({ text }) => text.includes('"type":"WebhookAccepted"') && !text.includes('"data":""'));
  const exchanged = contents.with(at, { kind: 'event', text: contents[at]!.text.replace(/"data":"[^"]*"/, '"data":"Zm9yZ2Vk"') });
  const manifestWith = (edit: object) => ({
    kind: 'manifest' as const,
    text: JSON.stringify({ ...JSON.parse(contents[0]!.text), ...edit }),
  });
  const isLate = ({ kind, text }: { kind: string; text: string }): boolean => kind === 'head' && text.includes('"version":2');
  const claims = {
    'nothing more': exchanged,
    'the earlier format': exchanged.with(0, manifestWith({ format: 'annals export v1' })),
    'the earlier format, without the later heads': exchanged
      .with(0, manifestWith({ format: 'annals export v1' }))
      .filter((one) => !isLate(one)),
    'no earlier tree': exchanged.with(0, manifestWith({ earlier: undefined })),
    'a longer earlier tree': exchanged.with(0, manifestWith({ earlier: { entries: 1_000, root: 'x' } })),
    'a later head as one of version 1': exchanged.map((one) =>
      isLate(one) ? { ...one, text: one.text.replace('"version":2', '"version":1') } : one,
    ),
  };
  for (const [what, claimed] of Object.entries(claims)) {
    const forged = written(writeAgain(claimed, sha256Of));
    assert.not((await verifyAuditExport(forged)).ok, what);
    assert.ok((await checkExport(readFileSync(forged))).problems.length > 0, `${what}, in the browser`);
  }
});

afterLastTest(async () => {
  p.allowUnappliedEvents();
  await Promise.all([server.close(), p.close()]);
});

test.run();
