import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { withoutByteOrderMark } from '../byte-order-mark.ts';
import { foreignCharsets, isJsonMediaType, parseContentType } from '../content-type.ts';
import { jsonFault } from '../json-fault.ts';
import { type JsonVerdict, scanJson } from '../json-scanner.ts';
import { parseExactNumbers } from './exact-json.ts';
import { hasPayload, payloadOf } from './form-payload.ts';
import { type FieldText, fieldName, jsonFields } from './json-fields.ts';

export type Media = 'json' | 'form';

const MEDIA_TYPES: ReadonlyMap<string, Media> = new Map([
  ['application/json', 'json'],
  ['application/x-www-form-urlencoded', 'form'],
]);

/** Null if deliveries must not have this type. */
export const mediaOfType = (type: string): Media | null => MEDIA_TYPES.get(type) ?? (isJsonMediaType(type) ? 'json' : null);

/** Null if it is neither JSON nor a form in UTF-8. A content type without a charset counts as UTF-8. */
export const mediaOf = (contentType: string): Media | null => {
  const known = MEDIA_TYPES.get(contentType);
  if (known) return known;
  const parsed = parseContentType(contentType);
  return foreignCharsets(parsed).length === 0 ? mediaOfType(parsed.type) : null;
};

/** `payload`: the data are JSON in the field `payload`; `fields`: the fields themselves. */
export type FormUse = 'payload' | 'fields';

/** `pointers`: JSON pointers to the fields whose values are needed. */
export type BodyQuestion = { readonly media: Media; readonly forms: FormUse; readonly pointers: readonly string[] };

/** `form`: a form whose fields are the data. */
export type BodyVerdict = JsonVerdict | 'form';

/** `sha256` in hex. `fields`: by JSON pointer, texts, or numbers as written; without fields that do not exist or are `unclear`. */
export type InspectedBody = {
  readonly sha256: string;
  readonly json: BodyVerdict;
  readonly fields: Readonly<Record<string, string>>;
  /** Fields with another type, several different values, or bytes that are not text. */
  readonly unclear?: readonly string[];
  /** The body should be JSON, and is not, because its bytes are not valid UTF-8. */
  readonly isNotUtf8?: true;
  /** Why the body is not JSON although it should be; absent if it is not UTF-8. */
  readonly fault?: string;
};

/** Takes time proportional to the size of the body. */
export const inspectBody = (question: BodyQuestion, body: Uint8Array): InspectedBody => {
  const bytes = jsonIn(question.media, body);
  const json = verdictOf(question.forms, bytes);
  const inspected = { sha256: hash('sha256', body, 'hex'), json, ...fieldsOf(question, json, json === 'form' ? body : bytes) };
  if (json !== 'not_json') return inspected;
  return isUtf8(bytes ?? body) ? { ...inspected, fault: faultOf(question.media, bytes, body) } : { ...inspected, isNotUtf8: true };
};

/** Why the body is not JSON. `bytes` should be JSON; null for a form without it. */
const faultOf = (media: Media, bytes: Uint8Array | null, body: Uint8Array): string => {
  if (bytes) return media === 'form' ? `in the field payload, ${jsonFault(bytes)}` : jsonFault(bytes);
  return hasPayload(body) ? 'the field payload has invalid percent-encoding' : 'the form has no field payload';
};

/** If the provider sends JSON in the field `payload` of a form, that is checked. */
export const jsonOf = ({ media, forms }: Pick<BodyQuestion, 'media' | 'forms'>, body: Uint8Array): BodyVerdict =>
  verdictOf(forms, jsonIn(media, body));

const verdictOf = (forms: FormUse, bytes: Uint8Array | null): BodyVerdict => {
  if (bytes) return scanJson(withoutByteOrderMark(bytes));
  return forms === 'fields' ? 'form' : 'not_json';
};

/** Null for a form without a readable field `payload`. */
const jsonIn = (media: Media, body: Uint8Array): Uint8Array | null => (media === 'json' ? body : payloadOf(body));

const NO_FIELDS = { fields: {} };

/** `bytes`: the form or the JSON; null if there is neither. */
const fieldsOf = (
  { pointers }: BodyQuestion,
  verdict: BodyVerdict,
  bytes: Uint8Array | null,
): Pick<InspectedBody, 'fields' | 'unclear'> => {
  if (pointers.length === 0 || !bytes || verdict === 'not_json' || verdict === 'too_deep') return NO_FIELDS;
  const found = verdict === 'form' ? formTexts(bytes, pointers) : jsonFields(withoutByteOrderMark(bytes), pointers);
  const fields: Record<string, string> = {};
  const unclear: string[] = [];
  for (const [pointer, field] of found) {
    if (field === 'unclear') unclear.push(pointer);
    else fields[pointer] = field.text;
  }
  return unclear.length === 0 ? { fields } : { fields, unclear };
};

/** Replaces bytes that are not UTF-8. Different bytes would look the same. */
const REPLACEMENT = '\ufffd';

const formTexts = (body: Uint8Array, pointers: readonly string[]): ReadonlyMap<string, FieldText> => {
  const form = new URLSearchParams(textOf(body));
  const found = new Map<string, FieldText>();
  for (const pointer of pointers) {
    const [text, ...others] = new Set(form.getAll(fieldName(pointer.slice(1))));
    if (text !== undefined) found.set(pointer, others.length > 0 || text.includes(REPLACEMENT) ? 'unclear' : { text });
  }
  return found;
};

/** The value of the JSON or, for a form without JSON, the fields; null if neither. */
export const contentOf = (contentType: string, body: Uint8Array): unknown => {
  const bytes = jsonIn(mediaOf(contentType) ?? 'json', body);
  try {
    return bytes ? parseExactNumbers(textOf(bytes)) : formFields(body);
  } catch {
    return null;
  }
};

const textOf = (bytes: Uint8Array): string => {
  const { buffer, byteOffset, length } = withoutByteOrderMark(bytes);
  return Buffer.from(buffer, byteOffset, length).toString();
};

const formFields = (form: Uint8Array): Readonly<Record<string, string>> => Object.fromEntries(new URLSearchParams(textOf(form)));

/** A text, or a whole number as a text; null if missing or of another type. */
export const textAt = (document: unknown, pointer: string): string | null => {
  let value = document;
  for (const part of pointer.slice(1).split('/')) {
    const name = fieldName(part);
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return null;
    value = (value as Record<string, unknown>)[name];
  }
  if (typeof value === 'string') return value;
  return typeof value === 'bigint' || Number.isSafeInteger(value) ? String(value) : null;
};
