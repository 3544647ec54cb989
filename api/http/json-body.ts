import { isPacked } from '../../domain/bodies/content-coding.ts';
import { withoutByteOrderMark } from '../../domain/byte-order-mark.ts';
import { foreignCharsets, parseContentType } from '../../domain/content-type.ts';
import { jsonFault } from '../../domain/json-fault.ts';
import { scanJson } from '../../domain/json-scanner.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import { shownValue } from '../../domain/shown-value.ts';

export const MAX_JSON_BYTES = 512 * 1024;
const MAX_DEPTH = 64;
const decoder = new TextDecoder('utf-8', { fatal: true });

const tooLarge = (limit: number) => new Refusal('too_large', `The body may have at most ${limit} bytes`, { members: { limit } });

/**
 * Throws the right error after reading a body has failed, because the client disconnected or sent malformed chunks.
 * @throws Refusal malformed, or `error` itself if it is a Refusal
 */
export const rejectTruncated = (error: unknown): never => {
  throw error instanceof Refusal ? error : new Refusal('malformed', 'The body ended before it was complete');
};

/** Reads a body whose request has no Content-Length. */
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

/**
 * Reads the body of a request.
 * @throws Refusal too_large as soon as more than `limit` bytes arrive, malformed if the body is truncated
 */
export const readBytes = async (request: Request, limit: number): Promise<Uint8Array> => {
  const declared = request.headers.get('content-length');
  if (declared === null) return readChunks(request.body, limit).catch(rejectTruncated);
  if (Number(declared) > limit) throw tooLarge(limit);
  return new Uint8Array(await request.arrayBuffer().catch(rejectTruncated));
};

/**
 * Checks the Content-Type of a request.
 * @throws Refusal unsupported_media_type if it is not application/json in UTF-8
 */
const assertJsonType = (type: string | null): void => {
  if (type === 'application/json') return;
  const parsed = parseContentType(type ?? '');
  if (parsed.type === 'application/json' && foreignCharsets(parsed).length === 0) return;
  throw new Refusal('unsupported_media_type', `The body must be application/json in UTF-8; its content type is ${shownValue(type)}`);
};

/**
 * Checks that a request has no Content-Encoding, because request bodies are never decompressed.
 * @throws Refusal unsupported_media_type if it has
 */
export const assertNotEncoded = (coding: string | null): void => {
  if (!isPacked(coding)) return;
  throw new Refusal('unsupported_media_type', `The Content-Encoding ${coding!.slice(0, 64)} is not supported: send the body uncompressed`, {
    acceptEncoding: 'identity',
  });
};

/**
 * Counts the members (pairs of name and value) of all objects in a JSON text. If a name occurs twice in an object, both
 * members are counted.
 */
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
  if (!value.isWellFormed()) throw invalid('', 'text may not contain an unpaired surrogate', 'bad_text');
};

const assertExactNumber = (value: number): void => {
  if (!Number.isFinite(value) || Object.is(value, -0)) throw invalid('', 'a number is out of range', 'bad_number');
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw invalid('', 'an integer is beyond 2^53 - 1', 'bad_number');
};

/**
 * Parses the JSON of an API request.
 * @throws Refusal invalid if an object contains a name twice, if a number would lose precision, or if Postgres cannot
 * store a text
 */
const parseStrictJson = (text: string): unknown => {
  let visited = 0;
  const value = JSON.parse(text, function (this: unknown, name: string, one: unknown) {
    if (typeof one === 'string') assertStorableText(one);
    if (typeof one === 'number') assertExactNumber(one);
    if (!Array.isArray(this)) {
      visited++;
      assertStorableText(name);
      // zod would drop a field with this name without an error.
      if (name === '__proto__') throw invalid('', 'a field may not be named __proto__', 'bad_name');
    }
    return one;
  });
  // This detects names that occur twice in an object, for which JSON.parse calls the reviver only once. The last call
  // of the reviver is for the root value, which is not a member.
  if (countMembers(text) !== visited - 1) throw invalid('', 'an object contains the same name twice', 'duplicate_name');
  return value;
};

/** Checks that the bytes are JSON. @throws Refusal malformed if they are not, invalid if they are nested too deeply */
const assertJson = (bytes: Uint8Array): void => {
  const result = scanJson(bytes, MAX_DEPTH);
  if (result === 'too_deep') throw invalid('', `the body is nested deeper than ${MAX_DEPTH} levels`, 'too_deep');
  if (result === 'not_json') throw new Refusal('malformed', `The body is not valid JSON: ${jsonFault(bytes)}`);
};

/**
 * Reads the JSON body of a request, of at most `limit` bytes. An empty body means `{}`, unless `isRequired` returns true.
 * @throws Refusal unsupported_media_type, too_large, malformed, invalid
 */
export const readJsonBody = async (
  request: Request,
  isRequired: () => boolean,
  limit = MAX_JSON_BYTES,
): Promise<{ value: unknown; bytes: Uint8Array }> => {
  const type = request.headers.get('content-type');
  // Some clients send a Content-Type although they send no body.
  if (type !== null && request.headers.get('content-length') !== '0') assertJsonType(type);
  assertNotEncoded(request.headers.get('content-encoding'));
  const bytes = withoutByteOrderMark(await readBytes(request, limit));
  if (bytes.length === 0 && !isRequired()) return { value: {}, bytes };
  assertJsonType(type);
  assertJson(bytes);
  return { value: parseStrictJson(decoder.decode(bytes)), bytes };
};

/**
 * Parses the JSON body of a webhook call. Its provider may use any text and any number. @throws Refusal malformed,
 * invalid
 */
export const parseJsonBody = (bytes: Uint8Array): unknown => {
  assertJson(bytes);
  return JSON.parse(decoder.decode(bytes));
};
