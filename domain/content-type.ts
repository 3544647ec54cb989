/** `type` and names of parameters in lower case, values without quotes, in the order as sent. */
export type ContentType = { readonly type: string; readonly parameters: readonly (readonly [name: string, value: string])[] };

/** A semicolon and the parameter before it. The value may be a quoted string. */
const PARAMETER = /;[ \t]*([^;="\s]*)[ \t]*(?:=[ \t]*(?:"((?:[^"\\]|\\.)*)"?|([^;]*)))?[^;]*/gs;
const SINGLE_QUOTED = /^'(.*)'$/s;

/** Lenient as RFC 9110 (5.6.6 and 8.3) permits: blanks, empty parameters and a semicolon at the end do not matter. */
export const parseContentType = (text: string): ContentType => {
  const end = text.indexOf(';');
  if (end < 0) return { type: text.trim().toLowerCase(), parameters: [] };
  const found = [...text.slice(end).matchAll(PARAMETER)];
  const parameters = found.map(([, name, quoted, plain]): [string, string] => [
    name!.toLowerCase(),
    quoted?.replace(/\\(.)/gs, '$1') ?? (plain ?? '').trim().replace(SINGLE_QUOTED, '$1'),
  ]);
  return { type: text.slice(0, end).trim().toLowerCase(), parameters: parameters.filter(([name]) => name !== '') };
};

/** application/json, text/json, or a name that ends in +json. */
export const isJsonMediaType = (type: string): boolean => /^(?:(?:application|text)\/json|[\w!#$&^.+-]+\/[\w!#$&^.+-]+\+json)$/.test(type);

/** The names of UTF-8, and of parts of it. */
const UTF8_NAMES = new Set(['', 'utf-8', 'utf8', 'unicode-1-1-utf-8', 'us-ascii', 'ascii', 'ansi_x3.4-1968']);

/** Other than UTF-8, each once, in lower case. */
export const foreignCharsets = ({ parameters }: ContentType): readonly string[] => {
  const named = parameters.filter(([name]) => name === 'charset').map(([, value]) => value.trim().toLowerCase());
  return named.every((charset) => UTF8_NAMES.has(charset)) ? [] : [...new Set(named.filter((charset) => charset !== ''))];
};

const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;

const written = (parameters: ContentType['parameters']): string =>
  parameters
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `; ${name}=${TOKEN.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`}`)
    .join('');

/** `charset` becomes `utf-8`. */
export const inUtf8 = ({ type, parameters }: ContentType): string => {
  const others = parameters.filter(([name]) => name !== 'charset');
  return `${type}${written(others)}; charset=utf-8`;
};

const PLAIN = /^[\w.+-]+\/[\w.+-]+(?:; ?charset="?[\w-]+"?)?$/;

/** Writes a content type as RFC 9110 does, without empty parameters and blanks. */
export const plainType = (text: string): string => {
  if (PLAIN.test(text)) return text;
  const { type, parameters } = parseContentType(text);
  return type + written(parameters);
};
