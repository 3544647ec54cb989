// This module checks a file of `annals export` in the reader's browser, and names the lines that do not verify. The file
// is not sent anywhere. The rules are the same as in infra/audit/verify-audit-export.mjs, which also describes the format.

import { checkHead, checkKeys, leafHash, nodeHash, rootFromPath, sha256Hex } from './proof-check.mjs';

const FORMAT = 'annals export v2';
const EARLIER_FORMAT = 'annals export v1';
const MAX_PROBLEMS = 20;
/** Larger files are checked with the script that docs/audit.md names, because the browser reads the whole file into memory. */
const MAX_BYTES = 256 * 1024 * 1024;
const LINE = /^\{"line":([1-9]\d{0,14}),"digest":"([\w-]{43})","(manifest|key|event|head|proof|end)":(\{.*\})\}$/s;

/** @param {number} count */
const counted = (count, one = 'entry', many = 'entries') => `${count} ${count === 1 ? one : many}`;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @param {Uint8Array} bytes */
const parseLine = (bytes) => {
  try {
    const [, number, digest = '', kind = '', text = ''] = /** @type {RegExpExecArray} */ (LINE.exec(decoder.decode(bytes)));
    return { number: Number(number), digest, kind, text, content: JSON.parse(text) };
  } catch {
    return null;
  }
};

/** Yields the start and the end of each line. @param {Uint8Array} bytes */
function* linesOf(bytes) {
  for (let start = 0; start < bytes.length; ) {
    const found = bytes.indexOf(10, start);
    const end = found < 0 ? bytes.length : found;
    yield { start, end };
    start = end + 1;
  }
}

/** Adds a leaf to the peaks of a tree of `size` leaves. @param {string[]} peaks @param {number} size @param {string} leaf */
const addLeaf = async (peaks, size, leaf) => {
  peaks.push(leaf);
  for (let rest = size; rest % 2 === 1; rest = (rest - 1) / 2) {
    const [left = '', right = ''] = peaks.splice(-2);
    peaks.push(await nodeHash(left, right));
  }
};

/** @param {readonly string[]} peaks */
const rootOf = async (peaks) => {
  let root = peaks.at(-1) ?? '';
  for (const peak of peaks.slice(0, -1).toReversed()) root = await nodeHash(peak, root);
  return root;
};

const BYTES =
  /^(\{"id":"[^"]*","stream":"[^"]*","revision":\d+,"position":"[^"]*","type":"[^"]*","at":"[^"]*","data":")[\w+/=]+(","metadata":)/;

/** Returns the leaf of an entry in the tree of version 1, which leaves out data that are bytes. @param {string} text @param {string} digest */
const earlierLeaf = async (text, digest) => {
  const bare = text.replace(BYTES, '$1$2');
  return bare === text ? digest : leafHash(bare);
};

/** Opens the trees that the file needs: the earlier one until its last head. @param {any} state */
const openTrees = ({ manifest, trees }) => {
  const isEarlier = manifest.format === EARLIER_FORMAT;
  trees[1].end = isEarlier ? Number.POSITIVE_INFINITY : (manifest.earlier?.entries ?? 0);
  trees[1].isOpen = trees[1].end > 0 && !manifest.selection;
  trees[2].isOpen = !isEarlier && !manifest.selection;
};

/**
 * Returns whether these are the peaks of the entries up to here. Beside its heads, "annals export v1" has the peaks of
 * whole entries, although its heads leave out data that are bytes.
 * @param {any} state @param {any} tree @param {readonly string[]} peaks
 */
const arePeaksHere = ({ manifest, wholePeaks }, tree, peaks) =>
  String(peaks) === String(tree.peaks) || (manifest?.format === EARLIER_FORMAT && String(peaks) === String(wholePeaks));

/**
 * Checks the head of a line against the entries before it.
 * @param {any} state @param {any} head @param {(text: string, first?: number) => void} report
 */
const checkHeadLine = async (state, head, report) => {
  const wrong = await checkHead(head, { tenant_id: state.manifest?.tenant_id ?? '', keys: state.keys });
  const tree = state.trees[head.version ?? 1];
  state.heads += 1;
  if (wrong) report(wrong);
  if (state.manifest?.selection) {
    if (head.version !== 2) report('the head of a selection must have version 2');
    if (state.trees[2].last && head.size <= state.trees[2].last.size) report('the head is not larger than the one before');
    if (state.pending) report('the entry before has no proof');
    return Object.assign(state.trees[2], { last: head });
  }
  if (!tree?.isOpen) return report(`the manifest names no tree with heads of version ${head.version ?? 1}`);
  const first = tree.first ?? state.line;
  if (tree.isUnknown) report('an unreadable line prevents the check of these entries against their head', first);
  else if (head.size !== tree.size) report(`the head covers ${counted(head.size)}, but the file has ${tree.size} up to here`, first);
  else if (head.root !== (await rootOf(tree.peaks)))
    report('entries were changed, replaced or moved: they do not have the root that is signed', first);
  else if (tree.first === null) report('there are no entries between this head and the one before');
  else if (head.position === undefined || head.position !== state.position)
    report('the head names another position than that of the last entry');
  else if (!arePeaksHere(state, tree, head.peaks)) report('the peaks of the head do not have its root');
  // A signed head also confirms its peaks. So the lines after it can be checked even if lines before it are wrong.
  const confirmed = Array.isArray(head.peaks) && (await rootOf(head.peaks)) === head.root;
  if (!wrong && confirmed) Object.assign(tree, { peaks: [...head.peaks], size: head.size });
  Object.assign(tree, { first: null, isUnknown: false, last: wrong ? tree.last : head });
  if (head.version !== 2 && head.size >= tree.end) tree.isOpen = false;
};

/** @param {any} state @param {{ digest: string, text: string, content: any }} parsed @param {(text: string) => void} report */
const checkEvent = async (state, { digest, text, content }, report) => {
  const { manifest, trees } = state;
  state.entries += 1;
  state.position = content.position;
  if (content.type === 'AuditLeafRuleChanged' && content.stream === `auditrule-${manifest?.tenant_id}.${manifest?.tenant_id}`)
    state.rule ??= { ...content.data, line: state.line };
  if (manifest?.selection) {
    const { from, to } = manifest.selection.filter ?? {};
    if (state.pending) report('the entry before has no proof');
    if (Date.parse(content.at) < Date.parse(from) || Date.parse(content.at) >= Date.parse(to))
      report('the entry is not of the period of the selection');
    state.pending = digest;
    return;
  }
  for (const [version, tree] of Object.entries(trees)) {
    if (!tree.isOpen) continue;
    const leaf = version === '1' ? await earlierLeaf(text, digest) : digest;
    if (leaf !== digest) state.bareEntries += 1;
    await addLeaf(tree.peaks, tree.size, leaf);
    tree.size += 1;
    tree.first ??= state.line;
  }
  if (manifest?.format === EARLIER_FORMAT) await addLeaf(state.wholePeaks, state.entries - 1, digest);
};

/** @param {any} state @param {{ index: number, path: string[] }} proof @param {(text: string, first?: number) => void} report */
const checkProofLine = async (state, { index, path }, report) => {
  const { pending, lastIndex } = state;
  const head = state.trees[2].last;
  Object.assign(state, { pending: null, lastIndex: index });
  if (!pending) return report('there is no entry before the proof');
  if (!head) return report('there is no head before the proof');
  if (index <= lastIndex) report('the entry does not come after the one before');
  if (!Array.isArray(path) || (await rootFromPath({ leaf: pending, index, size: head.size, path })) !== head.root)
    report('the path does not lead from the entry to the signed root', state.line - 1);
};

/**
 * @type {Record<string, (state: any, parsed: any, report: (text: string, first?: number) => void, before: Uint8Array) => Promise<void>>}
 */
const CHECKS = {
  manifest: async (state, { content }, report) => {
    if (state.line !== 1) return report('a manifest can only be the first line');
    state.manifest = content;
    openTrees(state);
    if (content.format !== FORMAT && content.format !== EARLIER_FORMAT) report(`the format is not ${FORMAT}`);
  },
  key: async (state, { content }, report) => {
    if (state.entries > 0 || state.heads > 0) report('a key stands between the entries');
    state.keys.push(content);
    const wrong = await checkKeys(state.keys);
    if (wrong) report(wrong);
  },
  event: checkEvent,
  head: (state, { content }, report) => checkHeadLine(state, content, report),
  proof: (state, { content }, report) => checkProofLine(state, content, report),
  end: async (state, { content }, report, before) => {
    state.isEnded = true;
    if (content.lines !== state.line - 1)
      report(`the last line counts ${counted(content.lines, 'line', 'lines')} before it, and the file has ${state.line - 1}`);
    if (content.sha256 !== (await sha256Hex(before))) report('the lines before have another SHA-256');
    if (state.pending) report('the entry before has no proof');
  },
};

/** @param {any} state @param {(text: string, first?: number) => void} report */
const checkWhole = ({ isEnded, manifest, trees, rule }, report) => {
  if (!isEnded) report('the file ends before its last line: it was cut');
  for (const { isOpen, first } of Object.values(trees)) if (isOpen && first !== null) report('no head covers these entries', first);
  if (!manifest || manifest.selection) return;
  const isEarlier = manifest.format === EARLIER_FORMAT;
  const last = trees[isEarlier ? 1 : 2].last;
  const earlier = isEarlier ? undefined : trees[1].last;
  for (const [name, named, value] of [
    ['entries', manifest.entries, last?.size],
    ['root', manifest.root, last?.root],
    ['position', manifest.position, last?.position],
    ['entries of the earlier tree', manifest.earlier?.entries, earlier?.size],
    ['root of the earlier tree', manifest.earlier?.root, earlier?.root],
  ])
    if (named !== value) report(`the manifest says ${name}: ${named}, but the newest head says ${value}`, 1);
  if (!isEarlier && rule && (rule.size !== earlier?.size || rule.root !== earlier?.root))
    report(`this entry names a head of version 1 over ${counted(rule.size)} as the last one, but the file does not have it`, rule.line);
};

const newTree = () => ({ isOpen: false, end: 0, size: 0, peaks: [], first: null, isUnknown: false, last: null });
const newState = () => ({
  ...{ line: 0, offset: 0, keys: [], entries: 0, heads: 0, bareEntries: 0, wholePeaks: [], trees: { 1: newTree(), 2: newTree() } },
  ...{ manifest: null, rule: null, pending: null, lastIndex: -1, position: undefined, isEnded: false },
});

/**
 * Checks the bytes of an export. @returns the tenant, what was checked, and the first problems with their lines
 * @param {Uint8Array} bytes
 */
export const checkExport = async (bytes) => {
  /** @type {{ line: number, last_line: number, text: string }[]} */
  const problems = [];
  /** @type {any} */
  const state = newState();
  const report = (/** @type {string} */ text, first = state.line) => problems.push({ line: first, last_line: state.line, text });
  for (const { start, end } of linesOf(bytes)) {
    state.line += 1;
    if (state.isEnded) report('there must be nothing after the last line');
    const parsed = parseLine(bytes.subarray(start, end));
    if (parsed === null) {
      report('this is not a line of an export: it was changed or cut');
      for (const tree of Object.values(state.trees)) tree.isUnknown = true;
    } else {
      if (state.line === 1 && parsed.kind !== 'manifest') report('the first line must be the manifest');
      const expected = state.line + state.offset;
      if (parsed.number !== expected)
        report(`lines were removed, added or moved before this one: it was line ${parsed.number}, not line ${expected}`);
      state.offset = parsed.number - state.line;
      if (parsed.digest !== (await leafHash(parsed.text))) report(`the ${parsed.kind} does not match its digest: it was changed`);
      await CHECKS[parsed.kind]?.(state, parsed, report, bytes.subarray(0, start));
    }
    if (problems.length > MAX_PROBLEMS) break;
  }
  if (problems.length <= MAX_PROBLEMS) checkWhole(state, report);
  if (bytes.length > 0 && bytes.at(-1) !== 10) report('the line break at the end is missing: the file was cut');
  const { manifest, entries, heads, trees, bareEntries } = state;
  if (problems.length === 0 && entries === 0) report('there is nothing to verify: the file has no entries', 1);
  const isEarlier = manifest?.format === EARLIER_FORMAT;
  const last = trees[isEarlier ? 1 : 2].last;
  const shown = problems.slice(0, MAX_PROBLEMS);
  const uncovered_contents = isEarlier ? bareEntries : 0;
  return { tenant_id: manifest?.tenant_id ?? null, entries, heads, key_id: last?.key_id ?? null, uncovered_contents, problems: shown };
};

/** @param {{ line: number, last_line: number }} problem */
const placeOf = ({ line, last_line }) => (line === last_line ? `Line ${line}` : `Lines ${line} to ${last_line}`);

const define = () => {
  /** A field for a file. After a file was chosen, it shows whether the file verifies, or which lines do not. */
  class ExportCheck extends HTMLElement {
    connectedCallback() {
      this.dataset.ready = '';
      this.querySelector('input')?.addEventListener('change', ({ target }) => {
        const [file] = /** @type {HTMLInputElement} */ (target).files ?? [];
        if (file) this.check(file);
      });
    }

    /** @param {File} file */
    async check(file) {
      if (!globalThis.isSecureContext)
        return this.show('failed', 'Browsers check proofs only over https, or on the machine of the platform');
      if (file.size > MAX_BYTES) return this.show('failed', 'The file is too large for this page: use the script that docs/audit.md names');
      this.show('busy', 'Checking…');
      try {
        const found = await checkExport(new Uint8Array(await file.arrayBuffer()));
        const { problems, entries, heads, key_id, tenant_id, uncovered_contents } = found;
        if (problems.length > 0) return this.show('wrong', `${file.name} does not verify`, problems);
        const other = tenant_id === this.dataset.tenant ? '' : ` It is of another tenant: ${tenant_id}.`;
        const bare = uncovered_contents === 0 ? '' : ` No head covers the contents of ${uncovered_contents} of them.`;
        this.show(
          'proved',
          `${file.name} verifies: ${counted(entries)} under ${counted(heads, 'signed head', 'signed heads')}, key ${key_id}.${bare}${other}`,
        );
      } catch (error) {
        this.show('failed', `Cannot be checked: ${/** @type {Error} */ (error).message}`);
      }
    }

    /** @param {string} state @param {string} text @param {readonly { line: number, last_line: number, text: string }[]} problems */
    show(state, text, problems = []) {
      this.dataset.state = state;
      const output = this.querySelector('output');
      if (output) output.textContent = text;
      const items = problems.map((problem) => {
        const item = document.createElement('li');
        item.dataset.line = String(problem.line);
        item.textContent = `${placeOf(problem)}: ${problem.text}`;
        return item;
      });
      this.querySelector('ul')?.replaceChildren(...items);
    }
  }

  customElements.define('export-check', ExportCheck);
};

if ('customElements' in globalThis && !customElements.get('export-check')) define();
