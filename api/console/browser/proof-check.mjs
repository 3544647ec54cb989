// This module checks the proof of an audit entry in the reader's browser: the leaf of the event, the path to the root,
// the signed head, and the chain of keys. The rules are the same as in infra/audit/verify-audit-export.mjs. From the
// server, it uses the event, the proof and the public keys, but no result of a check.

const encoder = new TextEncoder();

/** Decodes base64url. An invalid text yields no bytes, which match nothing. @param {string} text */
const bytesOf = (text) => {
  try {
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0));
  } catch {
    return new Uint8Array(0);
  }
};

/** @param {Uint8Array} bytes */
const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '');

/** @param {...Uint8Array} parts */
const sha256 = async (...parts) => {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', joined)));
};

/** Returns the SHA-256 of bytes in hex. @param {Uint8Array<ArrayBuffer>} bytes */
export const sha256Hex = async (bytes) =>
  [...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))].map((one) => one.toString(16).padStart(2, '0')).join('');

const ZERO = Uint8Array.of(0);
const ONE = Uint8Array.of(1);

/** Returns the hash of an event's leaf. `text` is the event as the list of events contains it. @param {string} text */
export const leafHash = (text) => sha256(ZERO, encoder.encode(text));

/** Returns the hash of two adjacent nodes of the tree. @param {string} left @param {string} right */
export const nodeHash = (left, right) => sha256(ONE, bytesOf(left), bytesOf(right));

/**
 * Returns the root to which a leaf and its path lead (RFC 9162, 2.1.3.2); null if the path has the wrong length.
 * @param {{ leaf: string, index: number, size: number, path: readonly string[] }} proof
 */
export const rootFromPath = async ({ leaf, index, size, path }) => {
  let [at, last, root] = [index, size - 1, leaf];
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) return null;
  for (const sibling of path) {
    if (last === 0) return null;
    if (at % 2 === 1 || at === last) {
      root = await nodeHash(sibling, root);
      while (at % 2 === 0 && at !== 0) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
    } else root = await nodeHash(root, sibling);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 ? root : null;
};

/**
 * Returns whether the tree of the head starts with the tree of the head before it (RFC 9162, 2.1.4.2).
 * @param {{ size: number, root: string }} before
 * @param {{ size: number, root: string, consistency: readonly string[] }} head
 */
export const isConsistent = async (before, { size, root, consistency }) => {
  if (before.size === size) return before.root === root && consistency.length === 0;
  const isPowerOfTwo = Number.isInteger(Math.log2(before.size));
  const [first, ...rest] = isPowerOfTwo ? [before.root, ...consistency] : consistency;
  if (first === undefined || before.size > size) return false;
  let [at, last, old, now] = [before.size - 1, size - 1, first, first];
  while (at % 2 === 1) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  for (const sibling of rest) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      [old, now] = [await nodeHash(sibling, old), await nodeHash(sibling, now)];
      while (at % 2 === 0 && at !== 0) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
    } else now = await nodeHash(now, sibling);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 && old === before.root && now === root;
};

/** @param {{ public_key: string }} key @param {string} text @param {string | null} signature */
const isSignedBy = async ({ public_key }, text, signature) => {
  try {
    const bytes = bytesOf(signature ?? '');
    const key = await crypto.subtle.importKey('jwk', { kty: 'OKP', crv: 'Ed25519', x: public_key }, { name: 'Ed25519' }, false, ['verify']);
    return base64url(bytes) === signature && (await crypto.subtle.verify({ name: 'Ed25519' }, key, bytes, encoder.encode(text)));
  } catch (error) {
    if (error instanceof DOMException && error.name === 'NotSupportedError') throw error;
    return false;
  }
};

/**
 * Checks that the id of each key is derived from its bytes, and that each key is signed by the key before it.
 * @returns what is wrong; null if nothing is
 * @param {readonly { key_id: string, public_key: string, cross_signature: string | null }[]} keys
 */
export const checkKeys = async (keys) => {
  for (const [index, { key_id, public_key, cross_signature }] of keys.entries()) {
    const before = keys[index - 1];
    const thumbprint = await sha256(encoder.encode(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x: public_key })));
    if (key_id !== thumbprint) return 'a key id does not belong to its public key';
    const text = ['annals audit key v1', key_id, public_key].join('\n');
    if (before ? !(await isSignedBy(before, text, cross_signature)) : cross_signature !== null)
      return 'the key before has not signed a key';
  }
  return null;
};

/**
 * Checks the signature of a head. @returns what is wrong, or null
 * @param {{ version?: number, size: number, root: string, position: string, at: string, signature: string, key_id: string }} head
 * @param {{ tenant_id: string, keys: readonly { key_id: string, public_key: string, cross_signature: string | null }[] }} known
 */
export const checkHead = async ({ version = 1, size, root, position, at, signature, key_id }, { tenant_id, keys }) => {
  const wrongKey = await checkKeys(keys);
  if (wrongKey) return wrongKey;
  const key = keys.find((known) => known.key_id === key_id);
  if (!key) return 'the head is signed with a key that is not published';
  const text = [`annals audit head v${version}`, tenant_id, size, root, position, at].join('\n');
  return (await isSignedBy(key, text, signature)) ? null : 'the signature of the head is not valid';
};

/**
 * Checks the proof of one event. @returns what is wrong, or null
 * @param {{ tenant_id: string, event_id: string, position: string }} entry what the page shows
 * @param {{ text: string, proof: any, keys: readonly any[] }} answers what the server has answered
 */
export const checkProof = async ({ tenant_id, event_id, position }, { text, proof, keys }) => {
  const event = JSON.parse(text);
  if (event.id !== event_id || event.position !== position) return 'the event is another one than that of the entry';
  const { leaf, index, size, path, head } = proof;
  if (leaf !== (await leafHash(text))) return 'the event has another hash than its leaf';
  if (head.version !== 2) return 'the head is one of an earlier version, which does not cover the contents of events';
  if (size !== head.size) return 'the proof is for a tree of another size';
  if ((await rootFromPath({ leaf, index, size, path })) !== head.root) return 'the path does not lead to the signed root';
  return checkHead(head, { tenant_id, keys });
};

/** @param {string} path */
const answerOf = async (path) => {
  const response = await fetch(path, { headers: { accept: 'application/json' } });
  const text = await response.text();
  if (response.ok) return text;
  const { detail = response.statusText } = JSON.parse(text || '{}');
  throw Object.assign(new Error(detail), { status: response.status });
};

/** Removes the brackets of a list with a single event. @param {string} page */
const onlyEvent = (page) => page.slice(1, -1);

/** @param {Record<string, string | undefined>} entry */
const proveEntry = async ({ tenant: tenant_id = '', event: event_id = '', position = '' }) => {
  const base = `/tenant/${encodeURIComponent(tenant_id)}`;
  const at = encodeURIComponent(position);
  const [events, proof, keys] = await Promise.all([
    answerOf(`${base}/events?from_position=${at}&to_position=${at}&limit=1`),
    answerOf(`${base}/audit-logs/proof?position=${at}`),
    answerOf(`${base}/audit-logs/keys`),
  ]);
  const found = JSON.parse(proof);
  const wrong = await checkProof({ tenant_id, event_id, position }, { text: onlyEvent(events), proof: found, keys: JSON.parse(keys) });
  return { wrong, said: `entry ${found.index + 1} of ${found.size}, under the head of ${found.head.at}, key ${found.head.key_id}` };
};

/** @param {Record<string, string | undefined>} shown */
const proveHead = async ({ tenant: tenant_id = '', head = '{}', before = '' }) => {
  const keys = JSON.parse(await answerOf(`/tenant/${encodeURIComponent(tenant_id)}/audit-logs/keys`));
  const [shown, earlier] = [JSON.parse(head), before === '' ? null : JSON.parse(before)];
  const wrong = await checkHead(shown, { tenant_id, keys });
  const said = `the key ${shown.key_id} has signed this root`;
  if (wrong || !earlier) return { wrong, said };
  if (!(await isConsistent(earlier, shown))) return { wrong: 'the tree does not begin with that of the head before', said };
  return {
    wrong,
    said: `${said}, and the tree begins with the ${earlier.size} ${earlier.size === 1 ? 'entry' : 'entries'} of the head before`,
  };
};

const define = () => {
  /** A button that checks the audit entry or the signed head in its attributes, and shows a tick or a cross. */
  class ProofCheck extends HTMLElement {
    connectedCallback() {
      this.dataset.ready = '';
      this.querySelector('button')?.addEventListener('click', () => this.check());
    }

    async check() {
      if (!globalThis.isSecureContext)
        return this.show('failed', 'Browsers check proofs only over https, or on the machine of the platform');
      this.show('busy', 'Checking…');
      try {
        const { wrong, said } = await (this.dataset.head ? proveHead(this.dataset) : proveEntry(this.dataset));
        if (wrong) this.show('wrong', `Not proved: ${wrong}`);
        else this.show('proved', `Proved in this browser: ${said}`);
      } catch (error) {
        const { name, message, status } = /** @type {Error & { status?: number }} */ (error);
        if (status === 404) return this.show('waiting', message);
        this.show(
          'failed',
          name === 'NotSupportedError' ? 'This browser cannot check Ed25519 signatures' : `Cannot be checked: ${message}`,
        );
      }
    }

    /** @param {string} state @param {string} text */
    show(state, text) {
      this.dataset.state = state;
      const output = this.querySelector('output');
      if (output) output.textContent = text;
    }
  }

  customElements.define('proof-check', ProofCheck);
};

if ('customElements' in globalThis && !customElements.get('proof-check')) define();
