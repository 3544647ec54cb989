import { invalid } from '../refusal.ts';

export type Headers = Readonly<Record<string, string>>;

/** Replaces a secret header value in responses. In a change, it keeps the present value. */
export const MASK = '***';

const MAX_HEADERS = 50;
const MAX_TOTAL_CHARACTERS = 8_192;
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers that the HTTP client sets itself, that concern a single connection, or that change where the request goes. */
const RESERVED =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|expect|idempotency-key|proxy-.*|http2-settings)$/i;
const SECRET = /auth|cookie|token|secret|key|password|signature|credential|session/i;

const pointerOf = (name: string): string => `/headers/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;

/** Stored encrypted and never shown. */
export const isSecret = (name: string): boolean => SECRET.test(name);

/** For an external target. @throws Refusal invalid if a header is not allowed */
export const assertHeaders = (headers: Headers): void => {
  const entries = Object.entries(headers);
  if (entries.length > MAX_HEADERS) throw invalid('/headers', `must have at most ${MAX_HEADERS} headers`);
  const names = new Set<string>();
  for (const [name, value] of entries) {
    if (!NAME.test(name)) throw invalid(pointerOf(name), "the name of a header has 1 to 128 letters, digits or -_.!#$%&'*+^`|~");
    if (RESERVED.test(name)) throw invalid(pointerOf(name), 'this header cannot be set', 'reserved');
    if (names.has(name.toLowerCase())) throw invalid(pointerOf(name), 'is set twice', 'duplicate');
    if (!VALUE.test(value)) throw invalid(pointerOf(name), 'must not contain control characters or characters outside of Latin-1');
    names.add(name.toLowerCase());
  }
  const total = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (total > MAX_TOTAL_CHARACTERS) throw invalid('/headers', `must have at most ${MAX_TOTAL_CHARACTERS} characters in all`);
};

/** `shown` has MASK for each secret value; `secrets` has the values. */
export const splitSecrets = (headers: Headers): { readonly shown: Headers; readonly secrets: Headers } => {
  const entries = Object.entries(headers);
  return {
    shown: Object.fromEntries(entries.map(([name, value]) => [name, isSecret(name) ? MASK : value])),
    secrets: Object.fromEntries(entries.filter(([name]) => isSecret(name))),
  };
};

/** Replaces each MASK by the present value. @throws Refusal invalid if the header has no present value */
export const withPresentSecrets = (secrets: Headers, present: Headers): Headers =>
  Object.fromEntries(
    Object.entries(secrets).map(([name, value]) => {
      if (value !== MASK) return [name, value];
      const known = present[name];
      if (known === undefined) throw invalid(pointerOf(name), `${MASK} stands for the present value, but the header has none`);
      return [name, known];
    }),
  );
