import type { BodyVerdict, Media } from './body-inspection.ts';
import { readings } from './exact-json.ts';
import { payloadOf, replacePayload } from './form-payload.ts';
import { replaceValues, type ValuePath } from './json-values.ts';

/** Returns the text that is to replace `text`, or the same text if it is to be kept. */
export type MapText = (text: string) => string;

/**
 * The content of a delivery's body, for the checks of the content. The body is decoded only when a check first needs
 * it, and only once.
 */
export type BodyContent = {
  readonly bytes: Uint8Array;
  /** The body decoded as UTF-8. JSON escapes and percent-encoding are not decoded. */
  readonly text: () => string;
  /**
   * The decoded texts in the body. Of JSON, these are the member names, the strings, and the numbers as they are
   * written. Of a form, these are the names and values of its fields or, if it has a field `payload`, the texts of the
   * JSON in it.
   */
  readonly texts: () => readonly string[];
  /**
   * The parsed JSON of the body or of the field `payload`. For a form without JSON, its fields. If a name occurs several
   * times, there are two: in the first one the last of the values counts, and in the other one the first.
   */
  readonly readings: () => readonly unknown[];
  /**
   * Replaces each of the `texts` by the result of `map`, and returns the new body. If no text changes, the same bytes
   * are returned. JSON stays valid JSON.
   */
  readonly mapTexts: (map: MapText) => Uint8Array;
  /**
   * Replaces the values of the `readings` at these paths by a text, and returns the new body. JSON is written without
   * whitespace, and its numbers keep their digits.
   */
  readonly replaceAt: (paths: readonly ValuePath[], text: string) => Uint8Array;
};

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Matches the strings and the numbers of a valid JSON text. */
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

/** Applies `map` to the names and values of a form. If one of them changes, the whole form is encoded again. */
const mapForm = (form: string, map: MapText): string => {
  const fields = formFields(form);
  const mapped = fields.map(([name, value]): [string, string] => [map(name), map(value)]);
  const isChanged = mapped.some(([name, value], index) => name !== fields[index]![0] || value !== fields[index]![1]);
  return isChanged ? new URLSearchParams(mapped).toString() : form;
};

/**
 * Replaces the values of the fields with these names. If several fields have the same name, all of them are replaced.
 */
const replaceFields = (form: string, paths: readonly ValuePath[], text: string): string => {
  const names = new Set(paths.map(([name]) => name));
  return new URLSearchParams(formFields(form).map(([name, value]) => [name, names.has(name) ? text : value])).toString();
};

/**
 * Returns the JSON of the body or of the field `payload`. For a form without JSON, returns the names and values of its
 * fields in UTF-8, each between spaces.
 */
export const plainBytes = (bytes: Uint8Array, media: Media, json: Extract<BodyVerdict, 'json' | 'form'>): Uint8Array => {
  if (media === 'json') return bytes;
  if (json === 'json') return payloadOf(bytes)!;
  return encoder.encode(` ${formFields(decoder.decode(bytes)).flat().join('  ')}  `);
};

const formReadings = (fields: readonly [string, string][]): readonly unknown[] => {
  const last = Object.fromEntries(fields);
  return Object.keys(last).length === fields.length ? [last] : [last, Object.fromEntries(fields.toReversed())];
};

/** The functions that read and change the texts of a body: one set for JSON, and one for forms. */
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

/** Returns a function that calls `find` the first time, and then always returns the same result. */
const once = <T>(find: () => T): (() => T) => {
  let found: { readonly value: T } | undefined;
  return () => {
    found ??= { value: find() };
    return found.value;
  };
};

/**
 * Returns the content of a body. `json` is the result of inspecting the body. A body that is not JSON, or is nested too
 * deeply, has no content for checks.
 */
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
