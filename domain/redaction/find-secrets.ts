import { SECRET_PATTERNS, type SecretPattern } from './secret-patterns.ts';
import type { Span } from './span.ts';

const TOKEN_CHARACTER = /[\w-]/;
const MAX_JWT_PART = 8_192;
const JWT_PAYLOAD = '.eyJ';

/** The index at which the token that ends before `end` starts; at least `min`. */
const tokenStart = (text: string, end: number, min: number): number => {
  let start = end;
  while (start > min && TOKEN_CHARACTER.test(text[start - 1]!)) start--;
  return start;
};

/** JSON Web Tokens. Starts with the second of three parts, because one pattern for all three could take quadratic time. */
const findJwts = (text: string): Span[] => {
  const spans: Span[] = [];
  let end = 0;
  for (let at = text.indexOf(JWT_PAYLOAD); at >= 0; at = text.indexOf(JWT_PAYLOAD, at + 1)) {
    const start = tokenStart(text, at, Math.max(end, at - MAX_JWT_PART));
    const header = text.slice(start, at);
    if (!header.startsWith('eyJ') || header.length < 10) continue;
    const rest = /^[\w-]{10,}\.[\w-]*/.exec(text.slice(at + 1, at + 1 + 4 * MAX_JWT_PART))?.[0];
    if (!rest) continue;
    end = at + 1 + rest.length;
    spans.push({ from: start, to: end, tag: 'jwt' });
  }
  return spans;
};

const PRIVATE_KEY = /-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----/g;
const END_OF_KEY = /-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----/g;

/** In PEM and PGP form. Without an end line, the span extends to the end of the text. */
const findPrivateKeys = (text: string): Span[] => {
  const spans: Span[] = [];
  PRIVATE_KEY.lastIndex = 0;
  for (let start = PRIVATE_KEY.exec(text); start; start = PRIVATE_KEY.exec(text)) {
    END_OF_KEY.lastIndex = PRIVATE_KEY.lastIndex;
    const to = END_OF_KEY.exec(text) ? END_OF_KEY.lastIndex : text.length;
    spans.push({ from: start.index, to, tag: 'private_key' });
    PRIVATE_KEY.lastIndex = to;
  }
  return spans;
};

const URL_USER = /^[^\s:@/"'<>\\]{0,256}:([^\s:@/"'<>\\]{3,256})@/;

/** As in `https://user:password@host`. */
const findUrlPasswords = (text: string): Span[] => {
  const spans: Span[] = [];
  for (let at = text.indexOf('://'); at >= 0; at = text.indexOf('://', at + 3)) {
    const found = URL_USER.exec(text.slice(at + 3, at + 520));
    if (!found || /^(?:\*|x{3}|\$|<|\{)/i.test(found[1]!)) continue;
    const to = at + 3 + found[0].length - 1;
    spans.push({ from: to - found[1]!.length, to, tag: 'url_password' });
  }
  return spans;
};

type Finder = { readonly literals: readonly string[]; readonly ignoresCase: boolean; readonly find: (text: string) => Span[] };

const patternFinder = ({ tag, literals, pattern, isSecret }: SecretPattern): Finder => ({
  literals,
  ignoresCase: pattern.ignoreCase,
  find: (text) => {
    const spans: Span[] = [];
    for (const found of text.matchAll(pattern)) {
      const secret = found[1] ?? found[0];
      const from = found.index + found[0].lastIndexOf(secret);
      if (isSecret?.(secret) !== false) spans.push({ from, to: from + secret.length, tag });
    }
    return spans;
  },
});

const exactly = (literals: readonly string[], find: Finder['find']): Finder => ({ literals, ignoresCase: false, find });

/** A separate constant, because the byte filter treats URLs in a special way: most contain no password. */
const URL_FINDER = exactly(['://'], findUrlPasswords);

const FINDERS: readonly Finder[] = [
  exactly(['-----BEGIN '], findPrivateKeys),
  exactly([JWT_PAYLOAD], findJwts),
  ...SECRET_PATTERNS.map(patternFinder),
];

/** A text that every body with a secret of a certain kind contains, written as in JSON. */
export type SecretLiteral = { readonly text: string; readonly ignoresCase: boolean };

const writtenForms = (literal: string): string[] => {
  const quoted = literal.replaceAll('"', '\\"');
  return quoted.includes('/') ? [quoted, quoted.replaceAll('/', '\\/')] : [quoted];
};

export const SECRET_LITERALS: readonly SecretLiteral[] = FINDERS.flatMap(({ literals, ignoresCase }) =>
  literals.flatMap(writtenForms).map((text) => ({ text, ignoresCase })),
);

const ALL_FINDERS = [...FINDERS, URL_FINDER];

const isPossible = ({ literals, ignoresCase }: Finder, text: string, lowered: string): boolean =>
  literals.some((literal) => (ignoresCase ? lowered : text).includes(literal));

const MIN_SECRET_LENGTH = 8;

/** API keys, tokens, private keys and passwords of a known form. Spans with a specific tag come before those with a general one. */
export const findSecrets = (text: string): Span[] => {
  if (text.length < MIN_SECRET_LENGTH) return [];
  const lowered = text.toLowerCase();
  return ALL_FINDERS.flatMap((finder) => (isPossible(finder, text, lowered) ? finder.find(text) : []));
};
