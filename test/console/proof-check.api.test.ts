import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  checkHead,
  checkKeys,
  checkProof,
  type Head,
  isConsistent,
  type Key,
  leafHash,
  type Path,
  rootFromPath,
} from '../../api/console/browser/proof-check.mjs';
import { consistencyPath, inclusionPath, leafHash as leafOf, peaksOf, rootOf } from '../../domain/audit/merkle-tree.ts';
import { rotateSigningKey } from '../../infra/audit/signing-key.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, startConsole } from '../fixtures/console-platform.ts';
import { signAuditHeads } from '../fixtures/sign-audit-heads.ts';

type Proof = Path & { readonly head: Head };
type Entry = { readonly id: string; readonly position: string };

const p = await startConsole();
const { tenant, tenant_id } = p;
for (const name of ['Reviewer', 'Triage', 'Release notes']) await createAgent(p, name);

const textOf = async (path: string): Promise<string> => {
  const answer = await p.send('GET', `${tenant}${path}`);
  assert.is(answer.status, 200, answer.text);
  return answer.text;
};
const get = async <T>(path: string): Promise<T> => JSON.parse(await textOf(path)) as T;

const signHeads = async (): Promise<void> => {
  await p.waitForProjections();
  await signAuditHeads(p, [tenant_id]);
};

await signHeads();
await rotateSigningKey(p);
await createAgent(p, 'Later');
await signHeads();
const keys = await get<Key[]>('/audit-logs/keys');
const entries = await get<Entry[]>('/audit-logs?limit=200');

/** Returns the API responses that the script in the browser needs to check the proof of an audit log entry. */
const answersFor = async ({ position }: Entry) => ({
  text: (await textOf(`/events?from_position=${position}&to_position=${position}&limit=1`)).slice(1, -1),
  proof: await get<Proof>(`/audit-logs/proof?position=${position}`),
  keys,
});

const placeOf = ({ id, position }: Entry) => ({ tenant_id, event_id: id, position });

test('in the browser, every audit log entry is proved, even after the signing key has changed', async () => {
  assert.is(keys.length, 2);
  assert.ok(entries.length >= 4);
  for (const entry of entries) assert.is(await checkProof(placeOf(entry), await answersFor(entry)), null);
});

/** Flips one bit of the byte at this index of the text. */
const flipped = (text: string, at: number): string => {
  const bytes = Buffer.from(text);
  bytes[at]! ^= 1;
  return bytes.toString();
};

test('the check in the browser detects a changed byte anywhere in the event, the path, the head or the keys', async () => {
  const entry = entries[1]!;
  const answers = await answersFor(entry);
  const checked = async (changed: Partial<typeof answers>): Promise<string | null> => {
    try {
      return await checkProof(placeOf(entry), { ...answers, ...changed });
    } catch {
      return 'the answer cannot be read';
    }
  };
  for (let at = 0; at < answers.text.length; at += 7)
    assert.ok(await checked({ text: flipped(answers.text, at) }), `byte ${at} of the event`);
  const { proof } = answers;
  const wrong: Proof[] = [
    { ...proof, index: proof.index + 1 },
    { ...proof, size: proof.size + 1 },
    { ...proof, leaf: flipped(proof.leaf, 3) },
    ...proof.path.map((_, place) => ({ ...proof, path: proof.path.map((hash, index) => (index === place ? flipped(hash, 5) : hash)) })),
    { ...proof, path: proof.path.slice(1) },
    { ...proof, path: [...proof.path, proof.leaf] },
    { ...proof, head: { ...proof.head, root: flipped(proof.head.root, 5) } },
    { ...proof, head: { ...proof.head, at: flipped(proof.head.at, 3) } },
    { ...proof, head: { ...proof.head, signature: flipped(proof.head.signature, 9) } },
    { ...proof, head: { ...proof.head, position: flipped(proof.head.position, 0) } },
    { ...proof, head: { ...proof.head, key_id: flipped(proof.head.key_id, 9) } },
  ];
  for (const one of wrong) assert.ok(await checked({ proof: one }), JSON.stringify(one));
  const [first, second] = keys as [Key, Key];
  assert.ok(await checked({ keys: [first, { ...second, public_key: flipped(second.public_key, 4) }] }));
  assert.ok(await checked({ keys: [first, { ...second, cross_signature: flipped(second.cross_signature!, 4) }] }));
  assert.ok(await checked({ keys: [] }));
});

test('the proof of one entry does not prove another one, nor an entry of another tenant', async () => {
  const [one, other] = entries as [Entry, Entry];
  const answers = await answersFor(other);
  assert.match((await checkProof(placeOf(one), answers)) ?? '', /another one/);
  assert.match((await checkProof({ ...placeOf(other), tenant_id: `c${'0'.repeat(24)}` }, answers)) ?? '', /signature/);
});

test('every audit head has a valid signature, and its tree extends the tree of the head before it', async () => {
  const [newest, oldest] = await get<(Head & { consistency: string[] })[]>('/audit-logs/heads');
  for (const head of [newest!, oldest!]) assert.is(await checkHead(head, { tenant_id, keys }), null);
  assert.ok(await isConsistent(oldest!, newest!));
  assert.not(await isConsistent({ ...oldest!, root: newest!.root }, newest!));
  assert.not(await isConsistent(oldest!, { ...newest!, consistency: newest!.consistency.map((hash) => flipped(hash, 7)) }));
});

test('a list of keys is not accepted if its first key has a signature, or if an id does not belong to its key', async () => {
  const [first, second] = keys as [Key, Key];
  assert.is(await checkKeys(keys), null);
  assert.ok(await checkKeys([second]));
  assert.ok(await checkKeys([second, first]));
  assert.ok(await checkKeys([{ ...first, key_id: second.key_id }]));
});

test('in all trees of up to 40 leaves, the inclusion paths lead to the root, and the consistency proofs show that each tree extends the smaller ones', async () => {
  const leaves = Array.from({ length: 40 }, (_, index) => leafOf(`leaf ${index}`));
  assert.is(await leafHash('leaf 3'), leaves[3]);
  for (let size = 1; size <= leaves.length; size++) {
    const tree = { size: 0, peaks: [], leaves: leaves.slice(0, size) };
    const root = rootOf(tree);
    const index = (size * 7) % size;
    const last = size - 1;
    for (const at of [index, last])
      assert.is(await rootFromPath({ leaf: leaves[at]!, index: at, size, path: inclusionPath(tree, at) }), root, `${at} of ${size}`);
    for (let old = 1; old < size; old++) {
      const start = { size: 0, peaks: [], leaves: leaves.slice(0, old) };
      const end = { size: old, peaks: peaksOf(start), leaves: leaves.slice(old, size) };
      const consistency = consistencyPath(end);
      assert.ok(await isConsistent({ size: old, root: rootOf(start) }, { size, root, consistency }), `${old} of ${size}`);
      assert.not(await isConsistent({ size: old, root: rootOf(start) }, { size, root, consistency: [...consistency, root] }));
    }
  }
});

afterLastTest(() => p.close());

test.run();
