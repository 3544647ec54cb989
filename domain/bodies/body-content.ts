import type { BodyVerdict, Media } from './body-inspection.ts';
import { readings } from './exact-json.ts';
import { payloadOf, replacePayload } from './form-payload.ts';
import { replaceValues, type ValuePath } from './json-values.ts';

/** Returns the same text if it is to be kept. */
export type MapText = (text: string) => string;

/** The content of a body for the checks. It is decoded only once, when a check first needs it. */
export type BodyContent = {
  readonly bytes: Uint8Array;
  /** Decoded as UTF-8; JSON escapes and percent-encoding are not decoded. */
  readonly text: () => string;
  /**
   * The decoded texts. For JSON: member names, strings, and numbers as written. For a form: names and values of its fields or, with a field
   * `payload`, the texts of the JSON in it.
   */
  readonly texts: () => readonly string[];
  /**
   * The JSON of the body or of the field `payload`; for a form without JSON, its fields. There are two readings if a name occurs several
   * times: one with the last value, the other with the first.
   */
  readonly readings: () => readonly unknown[];
  /** Replaces each of the `texts`. Returns the same bytes if no text changes. JSON stays valid JSON. */
  readonly mapTexts: (map: MapText) => Uint8Array;
  /** Replaces values of the `readings`. JSON is written without whitespace, and its numbers keep their digits. */
  readonly replaceAt: (paths: readonly ValuePath[], text: string) => Uint8Array;
};

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Strings and numbers of a valid JSON text. */
const JSON_TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

const decodeToken = (token: string): string => {
  if (!token.startsWith('"')) return token;
  return token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1);
};

const jsonTexts = (json: string): string[] => (json.match(JSON_TOKEN) ?? []).map(decodeToken);

const mapJson = (json: string, map: MapText): string =>
  json.replace(JSON_TOKEN, (token) => {
    const text = decodeToken(token);
    const mapped = map(text);
    return mapped === text ? token : JSON.stringify(mapped);
  });

const formFields = (form: string): [string, string][] => [...new URLSearchParams(form)];

/** If a name or value changes, the whole form is encoded again. */
const mapForm = (form: string, map: MapText): string => {
  const fields = formFields(form);
  const mapped = fields.map(([name, value]): [string, string] => [map(name), map(value)]);
  const isChanged = mapped.some(([name, value], index) => name !== fields[index]![0] || value !== fields[index]![1]);
  return isChanged ? new URLSearchParams(mapped).toString() : form;
};

/** Replaces all fields with these names. */
const replaceFields = (form: string, paths: readonly ValuePath[], text: string): string => {
  const names = new Set(paths.map(([name]) => name));
  return new URLSearchParams(formFields(form).map(([name, value]) => [name, names.has(name) ? text : value])).toString();
};

/** The JSON of the body or its field `payload`; for a form without JSON, the names and values of its fields in UTF-8, each between spaces. */
export const plainBytes = (bytes: Uint8Array, media: Media, json: Extract<BodyVerdict, 'json' | 'form'>): Uint8Array => {
  if (media === 'json') return bytes;
  if (json === 'json') return payloadOf(bytes)!;
  return encoder.encode(` ${formFields(decoder.decode(bytes)).flat().join('  ')}  `);
};

const formReadings = (fields: readonly [string, string][]): readonly unknown[] => {
  const last = Object.fromEntries(fields);
  return Object.keys(last).length === fields.length ? [last] : [last, Object.fromEntries(fields.toReversed())];
};

type Format = {
  readonly texts: (text: string) => string[];
  readonly parse: (text: string) => readonly unknown[];
  readonly map: (text: string, map: MapText) => string;
  readonly replace: typeof replaceFields;
};

const JSON_FORMAT: Format = { texts: jsonTexts, parse: readings, map: mapJson, replace: replaceValues };
const FORM_FORMAT: Format = {
  texts: (form) => formFields(form).flat(),
  parse: (form) => formReadings(formFields(form)),
  map: mapForm,
  replace: replaceFields,
};

const once = <T>(find: () => T): (() => T) => {
  let found: { readonly value: T } | undefined;
  return () => {
    found ??= { value: find() };
    return found.value;
  };
};

/** `json`: the result of the inspection. A body that is not JSON, or is nested too deeply, has no content for checks. */
export const bodyContent = (bytes: Uint8Array, media: Media, json: Extract<BodyVerdict, 'json' | 'form'>): BodyContent => {
  const isPayload = media === 'form' && json === 'json';
  const format = json === 'form' ? FORM_FORMAT : JSON_FORMAT;
  const text = once(() => decoder.decode(bytes));
  const inner = isPayload ? once(() => decoder.decode(payloadOf(bytes)!)) : text;
  const withInner = (changed: string): Uint8Array => {
    if (changed === inner()) return bytes;
    return isPayload ? replacePayload(bytes, changed) : encoder.encode(changed);
  };
  return {
    bytes,
    text,
    texts: once(() => format.texts(inner())),
    readings: once(() => format.parse(inner())),
    mapTexts: (map) => withInner(format.map(inner(), map)),
    replaceAt: (paths, replacement) => (paths.length === 0 ? bytes : withInner(format.replace(inner(), paths, replacement))),
  };
};
