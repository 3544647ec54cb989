import { hash } from 'node:crypto';
import { type JsonVerdict, scanJson } from '../json-scanner.ts';
import { payloadOf } from './form-payload.ts';

export type Media = 'json' | 'form';

const MEDIA_TYPES: Readonly<Record<string, Media>> = { 'application/json': 'json', 'application/x-www-form-urlencoded': 'form' };
const WITH_UTF8_CHARSET = /^([\w./+-]+)\s*;\s*charset="?utf-?8"?\s*$/i;

/**
 * Returns which kind of body a content type declares; null if deliveries must not have this content type. The only
 * allowed charset is UTF-8.
 */
export const mediaOf = (contentType: string): Media | null => {
  const known = MEDIA_TYPES[contentType];
  if (known) return known;
  const type = (WITH_UTF8_CHARSET.exec(contentType)?.[1] ?? contentType).trim().toLowerCase();
  return MEDIA_TYPES[type] ?? (/^application\/[\w.-]+\+json$/.test(type) ? 'json' : null);
};

/** How a provider uses forms. `payload`: the field `payload` contains JSON. `fields`: the fields are the data. */
export type FormUse = 'payload' | 'fields';

/** What to find out about a body. `pointers` are JSON pointers to the fields whose values are needed. */
export type BodyQuestion = { readonly media: Media; readonly forms: FormUse; readonly pointers: readonly string[] };

/** `form`: the body is a form whose fields are the data. */
export type BodyVerdict = JsonVerdict | 'form';

/**
 * `sha256` is the SHA-256 of the body, in hex. `fields` has the values of the fields asked for: texts, and whole
 * numbers as decimal texts. A field that is missing, or has another type, is missing here, too.
 */
export type InspectedBody = {
  readonly sha256: string;
  readonly json: BodyVerdict;
  readonly fields: Readonly<Record<string, string>>;
};

/**
 * Computes the digest of a body, checks whether it is JSON, and reads fields. The time grows with the size of the body.
 */
export const inspectBody = (question: BodyQuestion, body: Uint8Array): InspectedBody => {
  const json = jsonOf(question, body);
  return { sha256: hash('sha256', body, 'hex'), json, fields: fieldsOf(question, json, body) };
};

/**
 * Checks whether a body is JSON that is not nested too deeply. Of a form, only its field `payload` is checked. Whether
 * a form needs that field depends on the provider.
 */
export const jsonOf = ({ media, forms }: Pick<BodyQuestion, 'media' | 'forms'>, body: Uint8Array): BodyVerdict => {
  const json = media === 'json' ? body : payloadOf(body);
  if (json) return scanJson(json);
  return forms === 'fields' ? 'form' : 'not_json';
};

const NO_FIELDS = {};

const fieldsOf = ({ media, pointers }: BodyQuestion, verdict: BodyVerdict, body: Uint8Array): InspectedBody['fields'] => {
  if (pointers.length === 0 || verdict === 'not_json' || verdict === 'too_deep') return NO_FIELDS;
  const document = verdict === 'form' ? formFields(body) : JSON.parse(textOf(media === 'json' ? body : payloadOf(body)!));
  const found = pointers.map((pointer): [string, string | null] => [pointer, textAt(document, pointer)]);
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== null));
};

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();

const formFields = (form: Uint8Array): Readonly<Record<string, string>> => Object.fromEntries(new URLSearchParams(textOf(form)));

/** The value at a JSON pointer. A number that has lost digits is missing: two such numbers could look the same. */
const textAt = (document: unknown, pointer: string): string | null => {
  let value = document;
  for (const part of pointer.slice(1).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return null;
    value = (value as Record<string, unknown>)[name];
  }
  if (typeof value === 'string') return value;
  return Number.isSafeInteger(value) ? String(value) : null;
};
