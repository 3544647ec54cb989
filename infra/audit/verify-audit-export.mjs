#!/usr/bin/env node
// Verifies a file that `annals export` has written: the audit log of one tenant, or a selection of its entries.
//
// HOW TO RUN
//
//   node verify-audit-export.mjs <export file> [--key <key id>] [--anchors <file>]
//
// You need this file and Node.js 18 or later; no network, no account and no other packages.
//   --key      the id of a public key that you got from the platform by another way. The newest head of an export, and
//              every head of a selection, must be signed with this key or a later one.
//   --anchors  a file with the heads that the platform has posted to AUDIT_ANCHOR_URL, one JSON object per line. The
//              file must agree with each of them.
//
// WHAT IT VERIFIES
//
//   1. Each line is complete, has its number, and matches its digest. No line is missing, added or moved, and the last
//      line counts and hashes all others.
//   2. Each key but the first is signed with the key before it.
//   3. Each head is signed with one of these keys (Ed25519).
//   4. The entries have exactly the Merkle root (RFC 9162) that each head signs. So no entry before a head was changed,
//      removed, added or moved. In a selection, each entry has its proof that it belongs to the root of its head.
//   5. The manifest, --key and --anchors agree with the heads.
//
// WHAT IT PRINTS
//
//   ok: 12 entries of the tenant …, under 3 signed heads
//       Everything above holds. These lines can follow; they are no problems, but say what the file leaves open:
//       the newest head is signed with the key …
//           You did not use --key. Compare this id with the one that you got from the platform.
//       other entries lie between them: …
//           The file is a selection, and the log has more entries between the selected ones.
//       no head covers the contents of 2 of these entries: …
//       only heads of version 2 cover the contents of 2 of these entries, …
//           See "heads of version 1" below.
//   line 7: …
//   lines 4 to 9: …
//       A problem, and the lines of the file that it concerns. A changed entry whose digest was corrected, too, is only
//       found at the next head: then the range has all lines back to the head before. At most 1,000 problems are
//       printed; `and 5 more problems` counts the others.
//   FAIL
//       Always the last line after problems.
//   nothing to verify: the file has no entries
//       The file is well-formed, but proves nothing.
//
// EXIT CODES
//
//   0  verified (`ok`)
//   1  at least one problem (`FAIL`)
//   2  wrong arguments, or a file that cannot be read; the reason is on standard error
//   3  nothing to verify
//
// WHAT IT DOES NOT PROVE
//
//   - That the keys belong to the platform: anyone can sign a made-up log with a key of their own. Use --key.
//   - That the file is the newest one, and that no head was left out: an older export is valid, too, and a later head
//     proves the entries of a missing one. Use --anchors.
//   - That a selection is complete: it proves each of its entries, not that no other entry matches.
//   - That what an entry says is true: only that it is what the platform has recorded and signed.
//   - Contents that the heads do not cover (see "heads of version 1"), and the files and large bodies that entries name
//     only by their digests.
//
// FORMAT
//
// Each line is {"line":<number>,"digest":"<digest>","<kind>":<content>}. The digest is the SHA-256 of a zero byte and
// the text of the content, as base64url. The kinds come in this order:
//   manifest  the tenant, and the newest head: the number of entries, their root, and the position of the last one
//   key       a public key of the platform, signed with the key before it; one line for each key
//   event     an entry of the audit log, exactly as the event log stores it. Its digest is its leaf in the Merkle tree
//   head      the signed root of the tree so far; it follows the last entry that it covers
//   end       the number of lines before this one, and the SHA-256 of their bytes
// In a selection (the manifest has `selection`), a head comes before its entries, and this line follows each entry:
//   proof     the number of the entry in the tree, and the path from its leaf to the root of the head
//
// Heads of version 1 belong to an earlier tree. It leaves out the data of an entry if they are bytes (a text in this
// file): the leaf is the digest of the entry with "data":"". So these heads do not cover such contents; heads of
// version 2 do. Files in the format "annals export v1" have only heads of version 1.

import { createHash, createPublicKey, verify } from 'node:crypto';
import { createReadStream, readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const FORMAT = 'annals export v2';
const EARLIER_FORMAT = 'annals export v1';
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const MAX_PROBLEMS = 1000;

// ---- Hashes and signatures

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha256'));
const bytesOf = (base64url) => Buffer.from(base64url, 'base64url');
const ZERO = Buffer.of(0);
const ONE = Buffer.of(1);

/** Returns the digest of the content of a line. For an event, this is the hash of its leaf in the Merkle tree. */
export const digestOf = (text) => sha256(ZERO, text).digest('base64url');

export const exportLine = (number, kind, text) => `{"line":${number},"digest":"${digestOf(text)}","${kind}":${text}}\n`;

const nodeHash = (left, right) => sha256(ONE, bytesOf(left), bytesOf(right)).digest('base64url');

/** `peaks` are the roots of the largest complete subtrees, from left to right: one for each bit that is set in `size`. */
export const addLeaf = (peaks, size, leaf) => {
  peaks.push(leaf);
  for (let rest = size; rest % 2 === 1; rest = (rest - 1) / 2) peaks.push(nodeHash(...peaks.splice(-2)));
};

const rootOf = (peaks) => (peaks.length === 0 ? sha256().digest('base64url') : peaks.reduceRight((right, left) => nodeHash(left, right)));
const bitsSetIn = (size) => size.toString(2).replaceAll('0', '').length;
const arePeaksOf = (peaks, { size, root }) =>
  Array.isArray(peaks) && peaks.every((peak) => typeof peak === 'string') && peaks.length === bitsSetIn(size) && rootOf(peaks) === root;

const isSignedBy = ({ public_key }, text, signature) => {
  try {
    const bytes = bytesOf(signature);
    const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: public_key } });
    return bytes.toString('base64url') === signature && verify(null, Buffer.from(text), key, bytes);
  } catch {
    return false;
  }
};

// ---- Lines

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const LINE = /^\{"line":([1-9]\d{0,14}),"digest":"([\w-]{43})","(manifest|key|event|head|proof|end)":(\{.*\})\}$/s;

/** Returns the parts of a line; null if it is not a line of an export. */
const parseLine = (bytes) => {
  try {
    const [, number, digest, kind, text] = LINE.exec(decoder.decode(bytes));
    return { number: Number(number), digest, kind, text, content: kind === 'event' ? null : JSON.parse(text) };
  } catch {
    return null;
  }
};

/** Yields lines as bytes, without line breaks. If the file ends with a line break, as it should, the last line is empty. */
async function* linesOf(path) {
  let rest = [];
  let length = 0;
  for await (const chunk of createReadStream(path)) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield Buffer.concat([...rest, chunk.subarray(start, end)]);
      [rest, length, start] = [[], 0, end + 1];
    }
    rest.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > MAX_LINE_BYTES) throw new Error(`a line is longer than ${MAX_LINE_BYTES} bytes: this is no export`);
  }
  yield Buffer.concat(rest);
}

// ---- Trees and anchors

/** A tree while its entries are read. `first` is the line of the first entry that no head covers yet. */
const newTree = () => ({ isOpen: false, size: 0, peaks: [], first: null, isUnknown: false, last: null, sizes: new Set(), anchors: [] });

const BYTES =
  /^(\{"id":"[^"]*","stream":"[^"]*","revision":\d+,"position":"[^"]*","type":"[^"]*","at":"[^"]*","data":")[\w+/=]+(","metadata":)/;

/** Returns the leaf of an entry in the earlier tree: if its data are bytes, the digest of the entry without them. */
export const earlierLeaf = (text, digest) => {
  const bare = text.replace(BYTES, '$1$2');
  return bare === text ? digest : digestOf(bare);
};

const keyIdOf = (public_key) => sha256(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x: public_key })).digest('base64url');
const headText = (tenant, { version = 1, size, root, position, at }) =>
  [`annals audit head v${version}`, tenant, size, root, position, at].join('\n');

const counted = (count, one = 'entry', many = 'entries') => `${count} ${String(count) === '1' ? one : many}`;

/** Returns what is wrong with an anchored head itself; null if its key has signed it. */
const wrongInAnchor = (head, keys) => {
  const { public_key, key_id, signature, tenant_id } = head;
  const known = keys.find((key) => key.key_id === key_id);
  if (signature === undefined || key_id === undefined) return 'is not signed';
  if (!known) return `is signed with the key ${key_id}, which the file does not have`;
  if (public_key && keyIdOf(public_key) !== key_id) return 'has a key id that does not belong to its public key';
  return isSignedBy(known, headText(tenant_id, head), signature) ? null : 'has a signature that is not valid';
};

const compareWithAnchors = (tree, report) => {
  for (const anchor of tree.anchors) {
    if (anchor.head.size !== tree.size || anchor.isCompared) continue;
    anchor.isCompared = true;
    if (anchor.head.root !== rootOf(tree.peaks))
      report(`the tree over the first ${counted(tree.size)} has another root than the anchored head over them`, tree.first ?? undefined);
  }
};

/** The file has one JSON object per line, in the form in which the platform posts heads. */
const readAnchors = (state, file) => {
  if (file === undefined) return;
  const texts = readFileSync(file, 'utf8').split('\n');
  const heads = texts.flatMap((text, index) => (text.trim() === '' ? [] : [{ head: JSON.parse(text), at: index + 1, isCompared: false }]));
  for (const anchor of heads)
    if (anchor.head.tenant_id === state.manifest?.tenant_id) (state.trees[anchor.head.version ?? 1] ?? newTree()).anchors.push(anchor);
  if (anchorsOf(state).length === 0) throw new Error(`${file} has no head of the tenant ${state.manifest?.tenant_id}`);
};

const anchorsOf = ({ trees }) => [...trees[1].anchors, ...trees[2].anchors];

/** Opens the trees that the file needs. The earlier tree ends with its last head, or with the last one that was anchored. */
const openTrees = ({ manifest, trees }) => {
  if (manifest?.selection) return;
  const isEarlier = manifest?.format === EARLIER_FORMAT;
  trees[2].isOpen = !isEarlier;
  trees[1].end = Math.max(manifest?.earlier?.entries ?? 0, ...trees[1].anchors.map(({ head }) => head.size));
  trees[1].isOpen = isEarlier || trees[1].end > 0;
  if (isEarlier) trees[1].end = Number.POSITIVE_INFINITY;
};

// ---- Checks of each kind of line. `state` is what the earlier lines have shown; `report` reports a problem in this line.

const checkManifest = (state, { content }, report) => {
  if (state.line !== 1) return report('a manifest can only be the first line');
  state.manifest = content;
  if (content.format !== FORMAT && content.format !== EARLIER_FORMAT)
    report(`the format is not ${FORMAT}: use the verifier of the version that has written the file`);
};

const checkKey = (state, { content }, report) => {
  const { key_id, public_key, cross_signature } = content;
  const before = state.keys.at(-1);
  if (state.entries > 0 || state.heads > 0) report('a key stands between the entries');
  if (key_id !== keyIdOf(public_key)) report('the key id does not belong to the public key');
  if (before ? !isSignedBy(before, ['annals audit key v1', key_id, public_key].join('\n'), cross_signature) : cross_signature !== null)
    report('the key before has not signed this key');
  state.keys.push(content);
};

const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
};

/** If an entry records the end of the tree of version 1, remembers what it says. */
const noteLeafRule = (state, text) => {
  if (!text.includes('"type":"AuditLeafRuleChanged"')) return;
  const { type, stream, data } = parsed(text);
  const tenant = state.manifest?.tenant_id;
  if (type === 'AuditLeafRuleChanged' && stream === `auditrule-${tenant}.${tenant}`) state.rule ??= { ...data, line: state.line };
};

const checkEvent = (state, { digest, text }, report) => {
  state.entries += 1;
  state.lastText = text;
  noteLeafRule(state, text);
  if (state.manifest?.selection) return expectProof(state, digest, text, report);
  // The leaf is the digest that the line states, so that the root still proves all other entries if this one was changed.
  for (const [version, tree] of Object.entries(state.trees)) {
    if (!tree.isOpen) continue;
    const leaf = version === '1' ? earlierLeaf(text, digest) : digest;
    if (leaf !== digest) state.bareEntries += 1;
    addLeaf(tree.peaks, tree.size, leaf);
    tree.size += 1;
    tree.first ??= state.line;
    compareWithAnchors(tree, report);
    if (version === '1' && tree.size === tree.end && state.manifest?.earlier === undefined) tree.isOpen = false;
  }
  if (state.manifest?.format === EARLIER_FORMAT) addLeaf(state.wholePeaks, state.entries - 1, digest);
};

/** "annals export v1" has, beside its heads, the peaks of whole entries, although its heads leave out data that are bytes. */
const arePeaksHere = ({ manifest, wholePeaks }, tree, peaks) =>
  String(peaks) === String(tree.peaks) || (manifest?.format === EARLIER_FORMAT && String(peaks) === String(wholePeaks));

/** Checks the signature of a head, and with `--key`, that a head of a selection is signed with this key or a later one. */
const isHeadSigned = (state, head, report) => {
  const at = state.keys.findIndex((known) => known.key_id === head.key_id);
  const isSigned = at >= 0 && isSignedBy(state.keys[at], headText(state.manifest?.tenant_id, head), head.signature);
  if (at < 0) report('the head is signed with a key that the file does not have');
  else if (!isSigned) report('the signature of the head is not valid');
  if (state.manifest?.selection && at < state.keys.findIndex(({ key_id }) => key_id === state.pinned))
    report(`the head is signed neither with the key ${state.pinned} nor with a later one`);
  return isSigned;
};

/** Checks a head against the entries between the previous head and this one. `report` also accepts a range of lines. */
const checkHead = (state, { content: head }, report) => {
  const { version = 1, size, root, position, peaks } = head;
  const tree = state.trees[version];
  state.heads += 1;
  const isSigned = isHeadSigned(state, head, report);
  if (state.manifest?.selection) return startHead(state, head, report);
  if (!tree?.isOpen) return report(`the manifest names no tree with heads of version ${version}`);
  const first = tree.first ?? state.line;
  if (tree.isUnknown) report('an unreadable line prevents the check of these entries against their head', first);
  else if (size !== tree.size) report(`the head covers ${counted(size)}, but the file has ${tree.size} up to here`, first);
  else if (root !== rootOf(tree.peaks)) report('entries were changed, replaced or moved: they do not have the root that is signed', first);
  else if (tree.first === null) report('there are no entries between this head and the one before');
  else if (position === undefined || position !== parsed(state.lastText).position)
    report('the head names another position than that of the last entry');
  else if (!arePeaksHere(state, tree, peaks)) report('the peaks of the head do not have its root');
  // A signed head also confirms its peaks. So the later lines can be checked even if lines before the head are wrong.
  if (isSigned && arePeaksOf(peaks, head)) Object.assign(tree, { peaks: [...peaks], size });
  Object.assign(tree, { last: isSigned ? head : tree.last, first: null, isUnknown: false });
  tree.sizes.add(size);
  if (version === 1 && size >= tree.end) tree.isOpen = false;
};

const checkEnd = (state, { content }, report) => {
  state.isEnded = true;
  if (content.lines !== state.line - 1)
    report(`the last line counts ${counted(content.lines, 'line', 'lines')} before it, and the file has ${state.line - 1}`);
  if (content.sha256 !== state.hash.copy().digest('hex')) report('the lines before have another SHA-256');
  if (state.pending) report('the entry before has no proof');
};

// ---- Selections

const startHead = (state, head, report) => {
  const { last } = state.trees[2];
  if (head.version !== 2) report('the head of a selection must have version 2');
  if (last && head.size <= last.size) report('the head is not larger than the one before');
  if (state.pending) report('the entry before has no proof');
  Object.assign(state, { pending: null });
  state.trees[2].last = head;
  for (const anchor of state.trees[2].anchors) {
    if (anchor.head.size !== head.size) continue;
    anchor.isCompared = true;
    if (anchor.head.root !== head.root) report('the head has another root than the anchored head of this size');
  }
};

const expectProof = (state, digest, text, report) => {
  const { from, to } = state.manifest.selection.filter ?? {};
  const at = Date.parse(parsed(text).at);
  if (state.pending) report('the entry before has no proof');
  if (at < Date.parse(from) || at >= Date.parse(to)) report('the entry is not of the period of the selection');
  state.pending = { leaf: digest };
};

/** Returns the root to which a leaf and its path lead (RFC 9162, 2.1.3.2); null if the path has the wrong length. */
const rootFromPath = (leaf, index, size, path) => {
  let [at, last, root] = [index, size - 1, leaf];
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) return null;
  for (const sibling of path) {
    if (last === 0) return null;
    if (at % 2 === 1 || at === last) {
      root = nodeHash(sibling, root);
      while (at % 2 === 0 && at !== 0) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
    } else root = nodeHash(root, sibling);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 ? root : null;
};

const checkProof = (state, { content: { index, path } }, report) => {
  const { pending, lastIndex } = state;
  const head = state.trees[2].last;
  state.pending = null;
  if (!pending) return report('there is no entry before the proof');
  if (!head) return report('there is no head before the proof');
  if (index <= lastIndex) report('the entry does not come after the one before');
  if (!Array.isArray(path) || rootFromPath(pending.leaf, index, head.size, path) !== head.root)
    report('the path does not lead from the entry to the signed root', state.line - 1);
  state.gaps += state.entries > 1 && index !== lastIndex + 1 ? 1 : 0;
  state.lastIndex = index;
};

const CHECKS = { manifest: checkManifest, key: checkKey, event: checkEvent, head: checkHead, proof: checkProof, end: checkEnd };

const checkLine = (state, bytes, problem) => {
  const report = (text, first = state.line) => problem({ line: first, last_line: state.line, text });
  const line = parseLine(bytes);
  if (state.isEnded) report('there must be nothing after the last line');
  if (state.line === 1 && line?.kind !== 'manifest') report('the first line must be the manifest');
  if (line === null) {
    report('this is not a line of an export: it was changed or cut');
    for (const tree of Object.values(state.trees)) tree.isUnknown = true;
  } else {
    const expected = state.line + state.offset;
    if (line.number !== expected)
      report(`lines were removed, added or moved before this one: it was line ${line.number}, not line ${expected}`);
    state.offset = line.number - state.line;
    if (line.digest !== digestOf(line.text)) report(`the ${line.kind} does not match its digest: it was changed`);
    CHECKS[line.kind](state, line, report);
  }
  state.hash.update(bytes).update('\n');
};

// ---- Checks of the file as a whole, after its last line

const checkManifestAgainst = (named, last, report) => {
  for (const [name, value] of [
    ['entries', last?.size],
    ['root', last?.root],
    ['position', last?.position],
  ])
    if (name in named || value !== undefined)
      if (named[name] !== value) report(`the manifest says ${name}: ${named[name]}, but the newest head says ${value}`, 1);
};

const checkEarlierTree = ({ manifest, trees, rule }, report) => {
  const { last } = trees[1];
  if (manifest.earlier) checkManifestAgainst(manifest.earlier, last && { size: last.size, root: last.root }, report);
  if (rule && (rule.size !== last?.size || rule.root !== last?.root))
    report(`this entry names a head of version 1 over ${counted(rule.size)} as the last one, but the file does not have it`, rule.line);
};

const checkAnchors = (state, report) => {
  const { line, keys, manifest } = state;
  const anchors = anchorsOf(state);
  for (const { head, at } of anchors) {
    const wrong = wrongInAnchor(head, keys);
    if (wrong) report(`line ${at} of the anchors: the head over ${counted(head.size)} ${wrong}`, line);
  }
  const missing = anchors.filter(({ isCompared }) => !isCompared).map(({ head }) => head.size);
  if (manifest?.selection) {
    if (anchors.length > 0 && missing.length === anchors.length) report('none of the anchored heads is a head of this selection', line);
    return;
  }
  if (missing.length > 0) report(`a head over ${counted(missing.join(', '))} was anchored, but the file ends before it`, line);
  for (const { anchors, sizes } of Object.values(state.trees))
    for (const { head, isCompared } of anchors)
      if (isCompared && !sizes.has(head.size))
        report(`a head over ${counted(head.size)} was anchored, but the file does not have it`, line);
};

const checkPinnedKey = ({ keys, pinned, line, manifest }, last, report) => {
  if (pinned === undefined) return;
  const trusted = keys.findIndex(({ key_id }) => key_id === pinned);
  if (trusted < 0) return report(`the file does not have the key ${pinned}`, 1);
  if (!manifest?.selection && keys.findIndex(({ key_id }) => key_id === last?.key_id) < trusted)
    report(`the newest head is signed neither with the key ${pinned} nor with a later one`, line);
};

const checkWhole = (state, last, problem) => {
  const { line, manifest, trees } = state;
  const report = (text, at) => problem({ line: at, last_line: at, text });
  if (!state.isEnded) report('the file ends before its last line: it was cut', line);
  for (const { isOpen, first } of Object.values(trees))
    if (isOpen && first !== null) problem({ line: first, last_line: line, text: 'no head covers these entries' });
  if (manifest && !manifest.selection) {
    checkManifestAgainst(manifest, last, report);
    if (manifest.format === FORMAT) checkEarlierTree(state, report);
  }
  checkPinnedKey(state, last, report);
  checkAnchors(state, report);
};

const newState = (pinned) => ({
  ...{
    line: 0,
    offset: 0,
    keys: [],
    entries: 0,
    heads: 0,
    bareEntries: 0,
    lastText: '',
    wholePeaks: [],
    trees: { 1: newTree(), 2: newTree() },
  },
  ...{ manifest: null, rule: null, pending: null, lastIndex: -1, gaps: 0, isEnded: false, hash: createHash('sha256'), pinned },
});

/**
 * `key` is the id of a key known to belong to the platform. `anchors` is a file with heads posted to AUDIT_ANCHOR_URL. Returns the number
 * of problems, and the first 1,000 of them with their ranges of lines.
 */
export const verifyAuditExport = async (file, { key, anchors } = {}) => {
  const state = newState(key);
  const problems = [];
  let count = 0;
  const problem = (found) => {
    count += 1;
    if (problems.length < MAX_PROBLEMS) problems.push(found);
  };
  let before = null;
  for await (const bytes of linesOf(file)) {
    if (before !== null) {
      state.line += 1;
      checkLine(state, before, problem);
      if (state.line === 1) {
        readAnchors(state, anchors);
        openTrees(state);
      }
    }
    before = bytes;
  }
  if (before.length > 0) {
    state.line += 1;
    checkLine(state, before, problem);
    problem({ line: state.line, last_line: state.line, text: 'the line break at the end is missing: the file was cut' });
  }
  if (state.line === 0) state.line = 1;
  const { manifest, entries, heads, trees, gaps } = state;
  const isEarlier = manifest?.format === EARLIER_FORMAT;
  const { last } = trees[isEarlier ? 1 : 2];
  checkWhole(state, last, problem);
  const isEmpty = count === 0 && entries === 0;
  return {
    ok: count === 0 && !isEmpty,
    is_empty: isEmpty,
    ...{ tenant_id: manifest?.tenant_id ?? null, entries, heads, key_id: last?.key_id ?? null, is_key_known: key !== undefined },
    is_selection: manifest?.selection !== undefined,
    has_gaps: gaps > 0,
    // The entries whose contents no head covers, and those whose contents only heads of version 2 cover.
    uncovered_contents: isEarlier ? state.bareEntries : 0,
    later_covered_contents: isEarlier ? 0 : state.bareEntries,
    problem_count: count,
    problems,
  };
};

// ---- Command line

export const describeVerification = (found) => {
  const { entries, heads, tenant_id, key_id, uncovered_contents: uncovered, later_covered_contents: later } = found;
  const where = ({ line, last_line }) => (line === last_line ? `line ${line}` : `lines ${line} to ${last_line}`);
  const more = found.problem_count - found.problems.length;
  if (found.is_empty) return ['nothing to verify: the file has no entries'];
  if (!found.ok)
    return [
      ...found.problems.map((one) => `${where(one)}: ${one.text}`),
      ...(more > 0 ? [`and ${counted(more, 'more problem', 'more problems')}`] : []),
      'FAIL',
    ];
  const what = found.is_selection ? counted(entries, 'selected entry', 'selected entries') : counted(entries);
  return [
    `ok: ${what} of the tenant ${tenant_id}, under ${counted(heads, 'signed head', 'signed heads')}`,
    ...(found.is_selection && found.has_gaps
      ? ['other entries lie between them: a selection does not prove that nothing else matches']
      : []),
    ...(uncovered > 0
      ? [`no head covers the contents of ${uncovered} of these entries: an export by a newer version has heads that do`]
      : []),
    ...(later > 0
      ? [`only heads of version 2 cover the contents of ${later} of these entries, because those of version 1 left them out`]
      : []),
    ...(found.is_key_known || key_id === null
      ? []
      : [`the newest head is signed with the key ${key_id}: check that this is the platform's key, or use --key`]),
  ];
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** Escapes the characters of a file that could control the terminal or forge another line. */
const printable = (line) => line.replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

export const exitCodeOf = ({ ok, is_empty }) => (is_empty ? 3 : ok ? 0 : 1);

const main = async ([file, ...options]) => {
  const names = options.filter((_, index) => index % 2 === 0);
  if (!file || file.startsWith('--') || options.length % 2 === 1 || names.some((name) => !['--key', '--anchors'].includes(name))) {
    console.error('usage: node verify-audit-export.mjs <export file> [--key <key id>] [--anchors <file>]');
    return 2;
  }
  const optionOf = (name) => (names.includes(name) ? options[options.indexOf(name) + 1] : undefined);
  const found = await verifyAuditExport(file, { key: optionOf('--key'), anchors: optionOf('--anchors') });
  for (const line of describeVerification(found)) console.log(printable(line));
  return exitCodeOf(found);
};

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  main(process.argv.slice(2)).then(
    (code) => {
      process.exitCode = code;
    },
    (error) => {
      console.error(printable(error.message));
      process.exitCode = 2;
    },
  );
