import { mediaOf } from '../bodies/body-inspection.ts';
import { payloadOf } from '../bodies/form-payload.ts';
import { withoutByteOrderMark } from '../byte-order-mark.ts';
import { plainType } from '../content-type.ts';
import { scanJson } from '../json-scanner.ts';

export type MessageBody = {
  readonly contentType: string;
  readonly body: Uint8Array;
  /** The size of the complete body, in bytes. If the log stores the body in chunks, `body` is empty but `size` is not 0. */
  readonly size: number;
  /** Known to be JSON: found to be when it was received, and not changed since. */
  readonly isJson: boolean;
  /** From here, the runner fetches a body that is too large for a message. */
  readonly reference: string;
};

const JSON_TYPE = 'application/json';
/** Providers send JSON in this field of a form. It is the value of the attribute `formfield`. */
const FORM_FIELD = 'payload';

/** The body itself or, for a form, its field `payload`. `isJson`: known to be JSON. */
export const jsonInBody = (contentType: string, body: Uint8Array, isJson = false): Uint8Array | null => {
  const media = mediaOf(contentType);
  const found = media === 'form' ? payloadOf(body) : media && body;
  const json = found && withoutByteOrderMark(found);
  return json && ((isJson && json.length > 0) || scanJson(json) === 'json') ? json : null;
};

/** `text` ends the JSON text; `bytes` follow it. */
type BodyPart = { readonly attributes: Readonly<Record<string, string>>; readonly text: string; readonly bytes: Uint8Array | null };

const typeField = (contentType: string): Record<string, string> => (contentType === '' ? {} : { datacontenttype: plainType(contentType) });

/** Contains or references the body. The bytes follow the text unchanged. */
export const bodyPart = ({ contentType, body, size, isJson, reference }: MessageBody, inlineLimit: number): BodyPart => {
  const isLarge = size > inlineLimit;
  const isForm = mediaOf(contentType) === 'form';
  // A large body that is known to be JSON is not needed to see this; it may be stored in chunks, and be absent here.
  const json = isLarge && (isJson || !isForm) ? null : jsonInBody(contentType, body, isJson);
  const formField: Record<string, string> = isForm && (json || (isLarge && isJson)) ? { formfield: FORM_FIELD } : {};
  const type = typeField(json && isForm && !isLarge ? JSON_TYPE : contentType);
  const attributes = { ...type, ...formField };
  if (isLarge) return { attributes, text: `,"dataref":${JSON.stringify(reference)}`, bytes: null };
  if (json) return { attributes, text: ',"data":', bytes: json };
  return { attributes, text: `,"data_base64":"${body.toBase64()}"`, bytes: null };
};

/** Matches the characters that the value of an attribute must not contain (CloudEvents 1.0.2, Type System). */
const FORBIDDEN = /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u;
const ALL_FORBIDDEN = new RegExp(FORBIDDEN, 'gu');

/** Drops characters that are forbidden in CloudEvents, and empty attributes. */
export const validAttributes = (attributes: Readonly<Record<string, string>>): Record<string, string> => {
  const valid: Record<string, string> = {};
  for (const [name, value] of Object.entries(attributes))
    if (value !== '') valid[name] = FORBIDDEN.test(value) ? value.replace(ALL_FORBIDDEN, '\ufffd') : value;
  return valid;
};
