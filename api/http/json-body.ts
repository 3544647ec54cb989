import { scanJson } from '../../domain/json-scanner.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';

export const MAX_JSON_BYTES = 512 * 1024;
const MAX_DEPTH = 64;
const decoder = new TextDecoder('utf-8', { fatal: true });

const tooLarge = (limit: number) => new Refusal('too_large', `the body may have at most ${limit} bytes`, { members: { limit } });

/** Who sent it went away, or sent what is no chunk: nobody reads the answer, and it is no fault of ours. */
export const rejectTruncated = (error: unknown): never => {
  throw error instanceof Refusal ? error : new Refusal('malformed', 'the body ended before its length');
};

/** A body of unknown length. */
const readChunks = async (body: Request['body'], limit: number): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

/** The body's bytes, read once. @throws Refusal too_large beyond `limit`, before more of it is held; malformed where it is cut off */
export const readBytes = async (request: Request, limit: number): Promise<Uint8Array> => {
  const declared = request.headers.get('content-length');
  if (declared === null) return readChunks(request.body, limit).catch(rejectTruncated);
  if (Number(declared) > limit) throw tooLarge(limit);
  return new Uint8Array(await request.arrayBuffer().catch(rejectTruncated));
};

/** Only application/json in UTF-8. @throws Refusal unsupported_media_type */
const assertJsonType = (type: string | null): void => {
  if (type === 'application/json') return;
  const [media, ...parameters] = (type ?? '').toLowerCase().split(';');
  const charset = parameters.map((one) => one.trim()).find((one) => one.startsWith('charset='));
  if (media?.trim() === 'application/json' && (charset === undefined || /^charset="?utf-8"?$/.test(charset))) return;
  throw new Refusal('unsupported_media_type', 'the body must be application/json in UTF-8');
};

/** Nothing is unpacked. @throws Refusal unsupported_media_type */
const assertNotEncoded = (coding: string | null): void => {
  if (!coding || coding.toLowerCase() === 'identity') return;
  throw new Refusal('unsupported_media_type', `the body may bear no Content-Encoding but identity, not ${coding.slice(0, 64)}`, {
    acceptEncoding: 'identity',
  });
};

/** How many members the objects of a JSON text have, written twice or not. */
const countMembers = (text: string): number => {
  let members = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (quoted && code === 0x5c) at++;
    else if (code === 0x22) quoted = !quoted;
    else if (code === 0x3a && !quoted) members++;
  }
  return members;
};

const assertStorableText = (value: string): void => {
  if (value.includes('\0')) throw invalid('', 'text may not contain the character U+0000', 'bad_text');
  if (!value.isWellFormed()) throw invalid('', 'text may not contain half a surrogate pair', 'bad_text');
};

const assertExactNumber = (value: number): void => {
  if (!Number.isFinite(value) || Object.is(value, -0)) throw invalid('', 'a number is out of range', 'bad_number');
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw invalid('', 'an integer is beyond 2^53 - 1', 'bad_number');
};

/** Parses a JSON text as our own API takes it: no name twice, no number that would be rounded, no text that can't be kept. */
export const parseStrictJson = (text: string): unknown => {
  let visited = 0;
  const value = JSON.parse(text, function (this: unknown, name: string, one: unknown) {
    if (typeof one === 'string') assertStorableText(one);
    if (typeof one === 'number') assertExactNumber(one);
    if (!Array.isArray(this)) {
      visited++;
      assertStorableText(name);
      // Schemas drop it without a word.
      if (name === '__proto__') throw invalid('', 'a name may not be __proto__', 'bad_name');
    }
    return one;
  });
  // The reviver sees a doubled name once, and the whole value under an empty name.
  if (countMembers(text) !== visited - 1) throw invalid('', 'a name stands twice in one object', 'duplicate_name');
  return value;
};

/**
 * The JSON body of a request; none is `{}`, unless it is `needed`, which is asked only then.
 * @throws Refusal unsupported_media_type, too_large, malformed, invalid
 */
export const readJsonBody = async (request: Request, needed: () => boolean): Promise<{ value: unknown; bytes: Uint8Array }> => {
  const type = request.headers.get('content-type');
  // Some clients name a type of nothing, too.
  if (type !== null && request.headers.get('content-length') !== '0') assertJsonType(type);
  assertNotEncoded(request.headers.get('content-encoding'));
  const bytes = await readBytes(request, MAX_JSON_BYTES);
  if (bytes.length === 0 && !needed()) return { value: {}, bytes };
  assertJsonType(type);
  const verdict = scanJson(bytes, MAX_DEPTH);
  if (verdict === 'too_deep') throw invalid('', `the body nests deeper than ${MAX_DEPTH}`, 'too_deep');
  if (verdict === 'not_json') throw new Refusal('malformed', 'the body is not JSON');
  return { value: parseStrictJson(decoder.decode(bytes)), bytes };
};
