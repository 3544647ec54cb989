import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkExport } from '../../api/console/browser/export-check.mjs';
import { omit } from '../../domain/omit.ts';
import { describeVerification, verifyAuditExport } from '../../infra/audit/verify-audit-export.mjs';
import { root } from '../fixtures/child-process.ts';
import type { Content } from '../fixtures/export-edits.ts';
import { anchorsOf, contentsOfMade, createSigningKey, entryText, fileOf, type MadeExport } from '../fixtures/made-export.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const { dir } = createTempDirectory();
const [first, second] = [createSigningKey(), createSigningKey()];
const chained = createSigningKey(first);
const texts = Array.from({ length: 21 }, (_, index) => entryText(index));

const made = (version: 1 | 2, changes: Partial<MadeExport> = {}): MadeExport => ({
  texts,
  sizes: [10, 20, 21],
  version,
  keys: [first, chained],
  ...changes,
});

let files = 0;
const written = (content: Buffer | string): string => {
  const file = join(dir, `${files++}.jsonl`);
  writeFileSync(file, content);
  return file;
};

type Trust = { readonly key?: string; readonly anchors?: readonly string[] };

const problemsIn = async (bytes: Buffer, { key, anchors }: Trust = {}): Promise<string[]> => {
  const found = await verifyAuditExport(written(bytes), { key, anchors: anchors && written(`${anchors.join('\n')}\n`) });
  return found.ok ? [] : describeVerification(found);
};

/** Asserts that the verifier and the check in the browser find a problem. */
const assertFound = async (what: string, bytes: Buffer): Promise<void> => {
  assert.not.equal(await problemsIn(bytes), [], what);
  assert.not.equal((await checkExport(bytes)).problems, [], `${what}, in the browser`);
};

const VERSIONS = [1, 2] as const;

test('an unchanged file verifies with and without the key and the anchored heads', async () => {
  for (const version of VERSIONS) {
    const bytes = fileOf(contentsOfMade(made(version)));
    for (const trust of [
      {},
      { key: first.key_id },
      { anchors: anchorsOf(made(version)) },
      { key: chained.key_id, anchors: anchorsOf(made(version)) },
    ])
      assert.equal(await problemsIn(bytes, trust), [], `version ${version}`);
    assert.equal((await checkExport(bytes)).problems, []);
  }
});

/** Returns the texts with another second entry, as somebody with a signing key could replace it. */
const forgedTexts = texts.with(1, entryText(1).replace('entry 1', 'nothing'));
const withoutSecond = [...texts.toSpliced(1, 1), entryText(21)];

const RESIGNED: Readonly<Record<string, Partial<MadeExport>>> = {
  'the same key, heads of the same sizes': { texts: forgedTexts },
  'the same key, one head': { texts: forgedTexts, sizes: [21] },
  'the same key, heads of other sizes': { texts: forgedTexts, sizes: [9, 11, 19, 21] },
  'another key': { texts: forgedTexts, keys: [second] },
  'another key, one head': { texts: forgedTexts, sizes: [21], keys: [second] },
  'an entry left out': { texts: withoutSecond, sizes: [21] },
  'an entry at the end left out': { texts: texts.slice(0, 19), sizes: [10, 19] },
  'all entries but the first left out': { texts: texts.slice(0, 1), sizes: [1] },
};

test('anchored heads detect every history that was signed again, whatever heads the file has', async () => {
  for (const version of VERSIONS)
    for (const [what, changes] of Object.entries(RESIGNED)) {
      const bytes = fileOf(contentsOfMade(made(version, changes)));
      assert.equal(await problemsIn(bytes), [], `${what}: the file is consistent in itself`);
      const anchors = anchorsOf(made(version, { sizes: [10, 20] }));
      assert.not.equal(await problemsIn(bytes, { anchors }), [], `${what}, version ${version}`);
    }
});

test('the verifier names anchored heads that are beyond the end of the file, and those that the file leaves out', async () => {
  for (const version of VERSIONS) {
    const anchors = anchorsOf(made(version));
    const short = fileOf(contentsOfMade(made(version, { texts: texts.slice(0, 10), sizes: [10] })));
    assert.match((await problemsIn(short, { anchors })).join('\n'), 'a head over 20, 21 entries was anchored, but the file ends before it');
    const without = fileOf(contentsOfMade(made(version, { sizes: [20, 21] })));
    assert.equal(await problemsIn(without), [], 'a head can be left out');
    assert.match((await problemsIn(without, { anchors })).join('\n'), 'a head over 10 entries was anchored, but the file does not have it');
  }
});

const ANCHORS: Readonly<Record<string, readonly [(head: object) => object, RegExp]>> = {
  'no signature': [(head) => ({ ...head, signature: undefined }), /is not signed/],
  'no key': [(head) => ({ ...head, key_id: undefined }), /is not signed/],
  'another signature': [(head) => ({ ...head, signature: Buffer.alloc(64).toString('base64url') }), /has a signature that is not valid/],
  'a time that was not signed': [(head) => ({ ...head, at: '2026-01-01T00:00:00.000Z' }), /has a signature that is not valid/],
  'the public key of another key': [(head) => ({ ...head, public_key: second.public_key }), /does not belong to its public key/],
  'a key that the file does not have': [(head) => ({ ...head, key_id: second.key_id }), /which the file does not have/],
  'another root': [(head) => ({ ...head, root: 'x' }), /another root than the anchored head/],
};

test('an anchored head whose own signature is missing or wrong is a problem, with its line', async () => {
  const bytes = fileOf(contentsOfMade(made(2)));
  const [one, ...others] = anchorsOf(made(2));
  for (const [what, [edit, expected]] of Object.entries(ANCHORS)) {
    const problems = (await problemsIn(bytes, { anchors: [...others, JSON.stringify(edit(JSON.parse(one!)))] })).join('\n');
    assert.match(problems, expected, what);
    if (what !== 'another root') assert.match(problems, 'line 3 of the anchors', what);
  }
  const [other] = anchorsOf(made(2)).map((line) => line.replace(/"tenant_id":"\w+"/, '"tenant_id":"another"'));
  assert.match(String(await problemsIn(bytes, { anchors: [other!] }).catch((error: Error) => error.message)), 'has no head of the tenant');
});

const indexOf = (contents: readonly Content[], kind: Content['kind'], number = 0): number =>
  contents.flatMap((one, index) => (one.kind === kind ? [index] : []))[number]!;

/** What the README promises to find, for each kind of line: all numbers and digests of the file are corrected. */
const EDITS: Readonly<Record<string, (contents: readonly Content[], at: number) => readonly Content[]>> = {
  edited: (contents, at) => contents.with(at, { ...contents[at]!, text: contents[at]!.text.replace(/[0-9A-Za-z](?=[^0-9A-Za-z]*$)/, 'é') }),
  emptied: (contents, at) => contents.with(at, { ...contents[at]!, text: '{}' }),
  removed: (contents, at) => contents.toSpliced(at, 1),
  moved: (contents, at) => contents.toSpliced(at, 1).toSpliced(at + 1, 0, contents[at]!),
  added: (contents, at) => contents.toSpliced(at, 0, contents[at]!),
  cut: (contents, at) => contents.slice(0, at),
};

test('for each kind of line, whatever was edited, removed, moved, added or cut is found, except a head that is left out', async () => {
  for (const version of VERSIONS)
    for (const kind of ['manifest', 'key', 'event', 'head'] as const)
      for (const number of kind === 'manifest' ? [0] : [0, 1])
        for (const [what, edit] of Object.entries(EDITS)) {
          if (kind === 'head' && what === 'removed') continue;
          const contents = contentsOfMade(made(version));
          const changed = fileOf(edit(contents, indexOf(contents, kind, number)));
          await assertFound(`version ${version}: ${kind} ${number} ${what}`, changed);
        }
});

test('a last line that was edited, removed, repeated or followed by more is found', async () => {
  const bytes = fileOf(contentsOfMade(made(2))).toString();
  const lines = bytes.split('\n').slice(0, -1);
  const last = lines.at(-1)!;
  for (const [what, changed] of [
    ['edited', [...lines.slice(0, -1), last.replace(/"lines":\d+/, '"lines":1')]],
    ['removed', lines.slice(0, -1)],
    ['repeated', [...lines, last]],
    ['followed', [...lines, lines[3]!]],
  ] as const)
    await assertFound(what, Buffer.from(`${changed.join('\n')}\n`));
});

const without =
  (kind: Content['kind'], ...fields: string[]) =>
  (contents: readonly Content[]) =>
    contents.map((one) => {
      if (one.kind !== kind) return one;
      const kept = Object.entries(JSON.parse(one.text) as object).filter(([name]) => !fields.includes(name));
      return { kind, text: JSON.stringify(Object.fromEntries(kept)) };
    });

const MISSING: Readonly<Record<string, (contents: readonly Content[]) => readonly Content[]>> = {
  'all keys': (contents) => contents.filter(({ kind }) => kind !== 'key'),
  'all heads': (contents) => contents.filter(({ kind }) => kind !== 'head'),
  'all entries': (contents) => contents.filter(({ kind }) => kind !== 'event'),
  'all entries and heads': (contents) => contents.filter(({ kind }) => kind !== 'event' && kind !== 'head'),
  'what the manifest says': without('manifest', 'entries', 'root', 'position'),
  'the tenant': without('manifest', 'tenant_id'),
  'the format': without('manifest', 'format'),
  'the cross signatures': without('key', 'cross_signature'),
  'the key ids': without('key', 'key_id'),
  'the positions of heads': without('head', 'position'),
  'the positions of heads and entries': (contents) => without('event', 'position')(without('head', 'position')(contents)),
  'the peaks': without('head', 'peaks'),
  'the signatures': without('head', 'signature'),
  'the keys of heads': without('head', 'key_id'),
  'the sizes': without('head', 'size'),
};

test('a file from which any part is missing does not verify', async () => {
  for (const version of VERSIONS)
    for (const [what, edit] of Object.entries(MISSING))
      await assertFound(`version ${version}: without ${what}`, fileOf(edit(contentsOfMade(made(version)))));
});

/** Runs the verifier as an auditor does. @returns its exit code and what it prints */
const run = (...words: string[]): { code: number | null; output: string } => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'infra/audit/verify-audit-export.mjs'), ...words], {
    encoding: 'utf8',
  });
  return { code: status, output: stdout + stderr };
};

test('a file without entries has its own exit code, and an empty file fails', async () => {
  const [manifest] = contentsOfMade(made(2));
  const bare = { ...manifest!, text: JSON.stringify({ format: 'annals export v2', tenant_id: 'c9jpfsapokir73x0gc7lerkjb' }) };
  const key = omit(first, 'secret');
  const empty = written(fileOf([bare]));
  const withKey = written(fileOf([bare, { kind: 'key', text: JSON.stringify(key) }]));
  for (const words of [[empty], [withKey]]) {
    const { code, output } = run(...words);
    assert.equal([code, output.trim()], [3, 'nothing to verify: the file has no entries']);
  }
  assert.is(run(withKey, '--key', first.key_id).code, 1, 'no head is signed with the key');
  assert.is(run(withKey, '--anchors', written(anchorsOf(made(2)).join('\n'))).code, 1, 'the anchored heads are not reached');
  assert.is(run(written('')).code, 1);
  assert.is(run(written(fileOf(contentsOfMade(made(2))))).code, 0);
});

test.run();
