// This module checks a file of `annals export` in the reader's browser, and names the lines that do not verify. The file
// is not sent anywhere. The rules are the same as in infra/audit/verify-audit-export.mjs, which also describes the format.

import { checkHead, checkKeys, leafHash, nodeHash, sha256Hex } from './proof-check.mjs';

const FORMAT = 'annals export v1';
const MAX_PROBLEMS = 20;
/** Larger files are checked with the script of the README, because the browser reads the whole file into memory. */
const MAX_BYTES = 256 * 1024 * 1024;
const LINE = /^\{"line":([1-9]\d{0,14}),"digest":"([\w-]{43})","(manifest|key|event|head|end)":(\{.*\})\}$/s;

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

/**
 * Checks the head of a line against the entries before it.
 * @param {any} state @param {any} head @param {(text: string, first?: number) => void} report
 */
const checkHeadLine = async (state, head, report) => {
  const wrong = await checkHead(head, { tenant_id: state.manifest?.tenant_id ?? '', keys: state.keys });
  if (wrong) report(wrong);
  const first = state.first ?? state.line;
  if (state.isUnknown) report('an unreadable line prevents the check of these entries against their head', first);
  else if (head.size !== state.size) report(`the head covers ${head.size} entries, but the file has ${state.size} up to here`, first);
  else if (head.root !== (await rootOf(state.peaks)))
    report('entries were changed, replaced or moved: they do not have the root that is signed', first);
  // A signed head also confirms its peaks. So the lines after it can be checked even if lines before it are wrong.
  const confirmed = Array.isArray(head.peaks) && (await rootOf(head.peaks)) === head.root;
  if (!wrong && confirmed) Object.assign(state, { peaks: [...head.peaks], size: head.size });
  Object.assign(state, { first: null, isUnknown: false, heads: state.heads + 1, lastHead: wrong ? state.lastHead : head });
};

/**
 * @type {Record<string, (state: any, parsed: any, report: (text: string, first?: number) => void, before: Uint8Array) => Promise<void>>}
 */
const CHECKS = {
  manifest: async (state, { content }, report) => {
    state.manifest = content;
    if (state.line !== 1) report('a manifest can only be the first line');
    if (content.format !== FORMAT) report(`the format is not ${FORMAT}`);
  },
  key: async (state, { content }, report) => {
    state.keys.push(content);
    const wrong = await checkKeys(state.keys);
    if (wrong) report(wrong);
  },
  event: async (state, { digest }) => {
    await addLeaf(state.peaks, state.size, digest);
    state.size += 1;
    state.entries += 1;
    state.first ??= state.line;
  },
  head: (state, { content }, report) => checkHeadLine(state, content, report),
  end: async (state, { content }, report, before) => {
    state.isEnded = true;
    if (content.lines !== state.line - 1) report(`there were ${content.lines} lines before, now there are ${state.line - 1}`);
    if (content.sha256 !== (await sha256Hex(before))) report('the lines before have another SHA-256');
  },
};

/** @param {any} state @param {(text: string, first?: number) => void} report */
const checkWhole = ({ isEnded, first, manifest, lastHead }, report) => {
  if (!isEnded) report('the file ends before its last line: it was cut');
  if (first !== null) report('no head covers these entries', first);
  for (const [name, value] of [
    ['entries', lastHead?.size],
    ['root', lastHead?.root],
    ['position', lastHead?.position],
  ])
    if (manifest && manifest[name] !== value) report(`the manifest says ${name}: ${manifest[name]}, but the newest head says ${value}`, 1);
};

/**
 * Checks the bytes of an export. @returns the tenant, what was checked, and the first problems with their lines
 * @param {Uint8Array} bytes
 */
export const checkExport = async (bytes) => {
  /** @type {{ line: number, last_line: number, text: string }[]} */
  const problems = [];
  /** @type {any} */
  const state = { line: 0, offset: 0, keys: [], entries: 0, heads: 0, size: 0, peaks: [], first: null, manifest: null, isEnded: false };
  const report = (/** @type {string} */ text, first = state.line) => problems.push({ line: first, last_line: state.line, text });
  for (const { start, end } of linesOf(bytes)) {
    state.line += 1;
    if (state.isEnded) report('there must be nothing after the last line');
    const parsed = parseLine(bytes.subarray(start, end));
    if (parsed === null) {
      report('this is not a line of an export: it was changed or cut');
      state.isUnknown = true;
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
  const { manifest, entries, heads, lastHead } = state;
  const shown = problems.slice(0, MAX_PROBLEMS);
  return { tenant_id: manifest?.tenant_id ?? null, entries, heads, key_id: lastHead?.key_id ?? null, problems: shown };
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
      if (file.size > MAX_BYTES) return this.show('failed', 'The file is too large for this page: use the script of the README');
      this.show('busy', 'Checking…');
      try {
        const found = await checkExport(new Uint8Array(await file.arrayBuffer()));
        const { problems, entries, heads, key_id, tenant_id } = found;
        if (problems.length > 0) return this.show('wrong', `${file.name} does not verify`, problems);
        const other = tenant_id === this.dataset.tenant ? '' : ` It is of another tenant: ${tenant_id}.`;
        this.show('proved', `${file.name} verifies: ${entries} entries under ${heads} signed heads, key ${key_id}.${other}`);
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
