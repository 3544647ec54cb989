#!/usr/bin/env node
// Verifies an export of `annals export`. It needs only this file and Node.js 18 or later, no network and no other
// packages:  node verify-audit-export.mjs <export file> [--key <key id>] [--anchors <file>]  Each line of an export is
// {"line":<number>,"digest":"<digest>","<kind>":<content>}. The digest is the SHA-256 of a zero byte and the text of
// the content, as base64url. The lines come in this order:  manifest  the tenant, and the newest head: how many entries
// there are, their root, and the position of the last one key       each public key of the platform; the previous key
// has signed it event     an entry of the audit log, exactly as the event log stores it: a leaf of the Merkle tree (RFC
// 9162) head      each head, after the last entry that it covers: the root of the tree so far, signed with Ed25519 end
// the number of lines before this one, and the SHA-256 of their bytes  If somebody without the private key changes the
// file, it no longer matches the signed roots. The file alone does not prove that the first key belongs to the platform
// (compare it with the key id that you got from the platform, --key), and that no newer heads exist (compare it with
// the heads that the platform has posted to AUDIT_ANCHOR_URL, --anchors).
import { createHash, createPublicKey, verify } from 'node:crypto';
import { createReadStream, readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const FORMAT = 'annals export v1';
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const MAX_PROBLEMS = 1000;

// ---- Hashes and signatures

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha256'));
const bytesOf = (base64url) => Buffer.from(base64url, 'base64url');
const ZERO = Buffer.of(0);
const ONE = Buffer.of(1);

/** Returns the digest of the content of a line. For an event, this is the hash of its leaf in the Merkle tree. */
export const digestOf = (text) => sha256(ZERO, text).digest('base64url');

/** Returns one line of an export, with its line break. */
export const exportLine = (number, kind, text) => `{"line":${number},"digest":"${digestOf(text)}","${kind}":${text}}\n`;

const nodeHash = (left, right) => sha256(ONE, bytesOf(left), bytesOf(right)).digest('base64url');

/**
 * Adds a leaf to a tree of `size` leaves. `peaks` are the roots of its largest complete subtrees, from left to right:
 * one for each bit that is set in `size`.
 */
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
const LINE = /^\{"line":([1-9]\d{0,14}),"digest":"([\w-]{43})","(manifest|key|event|head|end)":(\{.*\})\}$/s;

/** Returns the parts of a line; null if it is not a line of an export. */
const parseLine = (bytes) => {
  try {
    const [, number, digest, kind, text] = LINE.exec(decoder.decode(bytes));
    return { number: Number(number), digest, kind, text, content: kind === 'event' ? null : JSON.parse(text) };
  } catch {
    return null;
  }
};

/**
 * Yields the lines of a file as bytes, without their line breaks. If the file ends with a line break, as it should, the
 * last line is empty.
 */
async function* linesOf(path) {
  let rest = [];
  let length = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
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

// ---- Checks of each kind of line. `state` contains the facts from the lines before; `report` reports a problem in
// this line.

const checkManifest = (state, { content }, report) => {
  if (state.line !== 1) return report('a manifest can only be the first line');
  state.manifest = content;
  if (content.format !== FORMAT) report(`the format is not ${FORMAT}: use the verifier of the version that has written the file`);
};

const checkKey = (state, { content }, report) => {
  const { key_id, public_key, cross_signature } = content;
  const before = state.keys.at(-1);
  const thumbprint = sha256(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x: public_key })).digest('base64url');
  if (state.entries > 0) report('a key stands between the entries');
  if (key_id !== thumbprint) report('the key id does not belong to the public key');
  if (before ? !isSignedBy(before, ['annals audit key v1', key_id, public_key].join('\n'), cross_signature) : cross_signature !== null)
    report('the key before has not signed this key');
  state.keys.push(content);
};

const checkEvent = (state, { digest, text }) => {
  // The tree gets the digest that the line states. So if somebody changed only this entry, the root still proves all
  // other entries.
  addLeaf(state.peaks, state.size, digest);
  state.entries += 1;
  state.size += 1;
  state.first ??= state.line;
  state.lastText = text;
};

const positionIn = (text) => {
  try {
    return JSON.parse(text).position;
  } catch {
    return undefined;
  }
};

/** Checks a head against the entries between the previous head and this one. `report` also accepts a range of lines. */
const checkHead = (state, { content: head }, report) => {
  const { size, root, position, at, signature, key_id, peaks } = head;
  const key = state.keys.find((known) => known.key_id === key_id);
  const signed = ['annals audit head v1', state.manifest?.tenant_id, size, root, position, at].join('\n');
  const isSigned = key !== undefined && isSignedBy(key, signed, signature);
  const first = state.first ?? state.line;
  state.heads += 1;
  if (!key) report('the head is signed with a key that the file does not have');
  else if (!isSigned) report('the signature of the head is not valid');
  if (state.isUnknown) report('an unreadable line prevents the check of these entries against their head', first);
  else if (size !== state.size) report(`the head covers ${size} entries, but the file has ${state.size} up to here`, first);
  else if (root !== rootOf(state.peaks)) report('entries were changed, replaced or moved: they do not have the root that is signed', first);
  else if (position !== positionIn(state.lastText)) report('the head names another position than that of the last entry');
  else if (String(peaks) !== String(state.peaks)) report('the peaks of the head do not have its root');
  // A signed head also confirms its peaks. So the later lines can be checked even if lines before the head are wrong.
  if (isSigned && arePeaksOf(peaks, head)) Object.assign(state, { peaks: [...peaks], size });
  Object.assign(state, { lastHead: isSigned ? head : state.lastHead, first: null, isUnknown: false });
  if (state.anchors.some((anchored) => anchored.size === size && anchored.root !== root))
    report('the head has another root than the anchored head of this size');
};

const checkEnd = (state, { content }, report) => {
  state.isEnded = true;
  if (content.lines !== state.line - 1) report(`there were ${content.lines} lines before, now there are ${state.line - 1}`);
  if (content.sha256 !== state.hash.copy().digest('hex')) report('the lines before have another SHA-256');
};

const CHECKS = { manifest: checkManifest, key: checkKey, event: checkEvent, head: checkHead, end: checkEnd };

/** Checks one line, without its line break. */
const checkLine = (state, bytes, problem) => {
  const report = (text, first = state.line) => problem({ line: first, last_line: state.line, text });
  const parsed = parseLine(bytes);
  if (state.isEnded) report('there must be nothing after the last line');
  if (state.line === 1 && parsed?.kind !== 'manifest') report('the first line must be the manifest');
  if (parsed === null) {
    report('this is not a line of an export: it was changed or cut');
    state.isUnknown = true;
  } else {
    const expected = state.line + state.offset;
    if (parsed.number !== expected)
      report(`lines were removed, added or moved before this one: it was line ${parsed.number}, not line ${expected}`);
    state.offset = parsed.number - state.line;
    if (parsed.digest !== digestOf(parsed.text)) report(`the ${parsed.kind} does not match its digest: it was changed`);
    CHECKS[parsed.kind](state, parsed, report);
  }
  state.hash.update(bytes).update('\n');
};

/** Checks the file as a whole, after its last line. */
const checkWhole = (state, { key: pinned }, problem) => {
  const { line, manifest, keys, lastHead } = state;
  const report = (text, at) => problem({ line: at, last_line: at, text });
  if (!state.isEnded) report('the file ends before its last line: it was cut', line);
  if (state.first !== null) problem({ line: state.first, last_line: line, text: 'no head covers these entries' });
  for (const [name, value] of [
    ['entries', lastHead?.size],
    ['root', lastHead?.root],
    ['position', lastHead?.position],
  ])
    if (manifest && manifest[name] !== value) report(`the manifest says ${name}: ${manifest[name]}, but the newest head says ${value}`, 1);
  if (pinned !== undefined) {
    const trusted = keys.findIndex(({ key_id }) => key_id === pinned);
    if (trusted < 0) report(`the file does not have the key ${pinned}`, 1);
    else if (keys.findIndex(({ key_id }) => key_id === lastHead?.key_id) < trusted)
      report(`the newest head is signed neither with the key ${pinned} nor with a later one`, line);
  }
  const newest = state.anchors.reduce((largest, { size }) => Math.max(largest, size), 0);
  if (newest > (lastHead?.size ?? 0)) report(`a head over ${newest} entries was anchored, but the file ends before it`, line);
};

/**
 * Returns the heads of a tenant from a file with one JSON object per line, in the form in which the platform posts
 * them.
 */
const readAnchors = (file, tenant) => {
  if (file === undefined) return [];
  const texts = readFileSync(file, 'utf8')
    .split('\n')
    .filter((text) => text.trim() !== '');
  const heads = texts.map((text) => JSON.parse(text)).filter(({ tenant_id }) => tenant_id === tenant);
  if (heads.length === 0) throw new Error(`${file} has no head of the tenant ${tenant}`);
  return heads;
};

/**
 * Verifies an export. `key` is the id of a key that is known to belong to the platform. `anchors` is a file with heads
 * that the platform has posted to AUDIT_ANCHOR_URL. Returns the number of problems, and the first 1,000 of them with
 * their ranges of lines.
 */
export const verifyAuditExport = async (file, { key, anchors } = {}) => {
  const state = { line: 0, offset: 0, keys: [], entries: 0, heads: 0, size: 0, peaks: [], first: null, lastText: '', isUnknown: false };
  Object.assign(state, { manifest: null, lastHead: null, isEnded: false, anchors: [], hash: createHash('sha256') });
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
      if (state.line === 1) state.anchors = readAnchors(anchors, state.manifest?.tenant_id);
    }
    before = bytes;
  }
  if (before.length > 0) {
    state.line += 1;
    checkLine(state, before, problem);
    problem({ line: state.line, last_line: state.line, text: 'the line break at the end is missing: the file was cut' });
  }
  if (state.line === 0) state.line = 1;
  checkWhole(state, { key }, problem);
  const { manifest, lastHead, entries, heads } = state;
  const summary = { tenant_id: manifest?.tenant_id ?? null, entries, heads, key_id: lastHead?.key_id ?? null };
  return { ok: count === 0, ...summary, is_key_known: key !== undefined, problem_count: count, problems };
};

// ---- Command line

/** Returns the lines of text that describe the result of a verification. */
export const describeVerification = (found) => {
  const where = ({ line, last_line }) => (line === last_line ? `line ${line}` : `lines ${line} to ${last_line}`);
  const more = found.problem_count - found.problems.length;
  if (!found.ok)
    return [...found.problems.map((one) => `${where(one)}: ${one.text}`), ...(more > 0 ? [`and ${more} problems more`] : []), 'FAIL'];
  const checked = `ok: ${found.entries} entries of the tenant ${found.tenant_id}, under ${found.heads} signed heads`;
  if (found.is_key_known || found.key_id === null) return [checked];
  return [checked, `the newest head is signed with the key ${found.key_id}: check that this is the platform's key, or use --key`];
};

const main = async ([file, ...options]) => {
  const names = options.filter((_, index) => index % 2 === 0);
  if (!file || file.startsWith('--') || options.length % 2 === 1 || names.some((name) => !['--key', '--anchors'].includes(name))) {
    console.error('usage: node verify-audit-export.mjs <export file> [--key <key id>] [--anchors <file>]');
    return 2;
  }
  const optionOf = (name) => (names.includes(name) ? options[options.indexOf(name) + 1] : undefined);
  const found = await verifyAuditExport(file, { key: optionOf('--key'), anchors: optionOf('--anchors') });
  for (const line of describeVerification(found)) console.log(line);
  return found.ok ? 0 : 1;
};

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  main(process.argv.slice(2)).then(
    (code) => {
      process.exitCode = code;
    },
    (error) => {
      console.error(error.message);
      process.exitCode = 2;
    },
  );
