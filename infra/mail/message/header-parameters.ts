import { decodeText } from './decode-text.ts';
import { decodeHeader } from './header-text.ts';

/** A header such as `text/plain; charset=utf-8`. Values are bytes, as the characters U+0000 to U+00FF. */
export type ParameterHeader = { readonly value: string; readonly parameters: ReadonlyMap<string, string> };

/** A quoted string (also one that is not closed), a comment, or characters up to the next of them. */
const TOKEN = /"(?:[^"\\]|\\.)*(?:"|$)|\((?:[^()\\]|\\.){0,500}\)|[^";(]+|[;("]/gs;
const NAME = /^\s*([^\s=]+)\s*=\s*/;

/** Other backslashes than those before quotes and backslashes stay: they are in paths of Windows and in some old charsets. */
const unquoted = (token: string): string => (token.startsWith('"') ? token.replace(/^"|"$/g, '').replace(/\\(["\\])/g, '$1') : token);
const isComment = (token: string): boolean => token.startsWith('(') && token.length > 1;

/** Divides a header into tokens, at the semicolons that are neither in quotes nor in comments. */
const segmentsOf = (header: string): string[][] => {
  const segments: string[][] = [[]];
  for (const [token] of header.matchAll(TOKEN)) {
    if (token === ';') segments.push([]);
    else segments.at(-1)!.push(token);
  }
  return segments;
};

/** Ignores what follows a quoted value. Parentheses within an unquoted value belong to it: senders forget the quotes around file names. */
const parameterIn = ([start = '', ...tokens]: readonly string[]): readonly [string, string] | null => {
  const [found, name] = NAME.exec(start) ?? [];
  if (found === undefined || name === undefined) return null;
  const rest = start.slice(found.length);
  if (rest === '' && tokens[0]?.startsWith('"')) return [name.toLowerCase(), unquoted(tokens[0])];
  const last = tokens.at(-1);
  const kept = last !== undefined && isComment(last) && /\s$/.test(tokens.at(-2) ?? rest) ? tokens.slice(0, -1) : tokens;
  return [name.toLowerCase(), [rest, ...kept.map(unquoted)].join('').trim()];
};

/** Reads a header with parameters. If parameters have the same name, the first one counts. */
export const parameterHeader = (header: string | undefined): ParameterHeader => {
  const [value = [], ...rest] = segmentsOf(header ?? '');
  const parameters = new Map<string, string>();
  for (const [name, text] of rest.map(parameterIn).filter((one) => one !== null)) if (!parameters.has(name)) parameters.set(name, text);
  const plain = value
    .filter((token) => !isComment(token))
    .map(unquoted)
    .join('')
    .trim();
  return { value: plain.split(/\s/, 1)[0]!.toLowerCase(), parameters };
};

const percentDecoded = (value: string): string =>
  value.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

type Section = { readonly number: number; readonly isEncoded: boolean; readonly value: string };

const sectionsOf = ({ parameters }: ParameterHeader, name: string): Section[] => {
  const sections: Section[] = [];
  for (const [key, value] of parameters) {
    if (!key.startsWith(`${name}*`)) continue;
    const found = /^(?:(\d{1,6})(\*?))?$/.exec(key.slice(name.length + 1));
    if (found) sections.push({ number: Number(found[1] ?? -1), isEncoded: found[1] === undefined || found[2] === '*', value });
  }
  return sections.toSorted((one, other) => one.number - other.number);
};

/** Decodes by RFC 2231, or encoded words, which senders use in parameters although they must not. */
export const parameterText = (header: ParameterHeader, name: string, hints: readonly string[]): string | undefined => {
  const all = sectionsOf(header, name);
  const sections = all[0]?.number === -1 ? all.slice(0, 1) : all;
  const plain = header.parameters.get(name);
  if (sections.length === 0) return plain === undefined ? undefined : decodeHeader(plain, hints);
  const [first] = sections;
  const [, charset, start] = (first!.isEncoded ? /^([^']*)'[^']*'(.*)$/s.exec(first!.value) : null) ?? [];
  const values = sections.map((section, index) => {
    const value = index === 0 && start !== undefined ? start : section.value;
    return section.isEncoded ? percentDecoded(value) : value;
  });
  const joined = values.join('');
  if (!sections.some(({ isEncoded }) => isEncoded)) return decodeHeader(joined, hints);
  return decodeText(Buffer.from(joined, 'latin1'), charset, hints);
};
