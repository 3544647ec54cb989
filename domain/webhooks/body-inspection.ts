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

/** Returns the kind of body that a media type stands for; null if deliveries must not have this type. */
export const mediaOfType = (type: string): Media | null => MEDIA_TYPES.get(type) ?? (isJsonMediaType(type) ? 'json' : null);

/**
 * Returns the kind of body that a content type stands for; null if it is neither JSON nor a form in UTF-8. A content
 * type without a charset counts as UTF-8.
 */
export const mediaOf = (contentType: string): Media | null => {
  const known = MEDIA_TYPES.get(contentType);
  if (known) return known;
  const parsed = parseContentType(contentType);
  return foreignCharsets(parsed).length === 0 ? mediaOfType(parsed.type) : null;
};

/**
 * How a provider uses forms. `payload`: the data are JSON in the field `payload`. `fields`: the data are the fields
 * themselves.
 */
export type FormUse = 'payload' | 'fields';

/** What an inspection needs to know. `pointers` are JSON pointers to the fields whose values are needed. */
export type BodyQuestion = { readonly media: Media; readonly forms: FormUse; readonly pointers: readonly string[] };

/** `form` means that the body is a form whose fields are the data. */
export type BodyVerdict = JsonVerdict | 'form';

/**
 * `sha256` is the SHA-256 of the body, in hex. `fields` maps the requested JSON pointers to values: texts, or numbers as
 * they are written in the body. A field that does not exist, or is `unclear`, is not in the map.
 */
export type InspectedBody = {
  readonly sha256: string;
  readonly json: BodyVerdict;
  readonly fields: Readonly<Record<string, string>>;
  /**
   * The pointers to fields that have another type, several different values, or bytes that are no text; absent if there
   * are none.
   */
  readonly unclear?: readonly string[];
  /** Present if the body should be JSON, and is not, because its bytes are not valid UTF-8. */
  readonly isNotUtf8?: true;
  /** Why the body is no JSON although it should be; absent if it is JSON, or no UTF-8. */
  readonly fault?: string;
};

/**
 * Computes the digest of a body, checks whether it is JSON, and reads the requested fields. The time is proportional to
 * the size of the body.
 */
export const inspectBody = (question: BodyQuestion, body: Uint8Array): InspectedBody => {
  const bytes = jsonIn(question.media, body);
  const json = verdictOf(question.forms, bytes);
  const inspected = { sha256: hash('sha256', body, 'hex'), json, ...fieldsOf(question, json, json === 'form' ? body : bytes) };
  if (json !== 'not_json') return inspected;
  return isUtf8(bytes ?? body) ? { ...inspected, fault: faultOf(question.media, bytes, body) } : { ...inspected, isNotUtf8: true };
};

/** Returns why a body is not JSON. `bytes` is what should be JSON; null if the body is a form without it. */
const faultOf = (media: Media, bytes: Uint8Array | null, body: Uint8Array): string => {
  if (bytes) return media === 'form' ? `in the field payload, ${jsonFault(bytes)}` : jsonFault(bytes);
  return hasPayload(body) ? 'the field payload has invalid percent-encoding' : 'the form has no field payload';
};

/**
 * Returns whether a body is JSON that is not nested too deeply. If the provider sends JSON in the field `payload` of a
 * form, this field is checked.
 */
export const jsonOf = ({ media, forms }: Pick<BodyQuestion, 'media' | 'forms'>, body: Uint8Array): BodyVerdict =>
  verdictOf(forms, jsonIn(media, body));

const verdictOf = (forms: FormUse, bytes: Uint8Array | null): BodyVerdict => {
  if (bytes) return scanJson(withoutByteOrderMark(bytes));
  return forms === 'fields' ? 'form' : 'not_json';
};

/** Returns the bytes of a body that should be JSON; null if it is a form without a readable field `payload`. */
const jsonIn = (media: Media, body: Uint8Array): Uint8Array | null => (media === 'json' ? body : payloadOf(body));

const NO_FIELDS = { fields: {} };

/** Reads the requested fields. `bytes` is the form or the JSON that contains them; null if there is neither. */
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

/** The character that stands for bytes which are not UTF-8. Different bytes would look the same. */
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

/** Returns what a body contains: the value of its JSON or, if it is a form without JSON, its fields; null if neither. */
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

/** Returns the text or whole number at a JSON pointer as a text; null if it is missing or has another type. */
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
