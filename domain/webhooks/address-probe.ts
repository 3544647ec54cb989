import type { Provider } from './provider.ts';
import { firstHeader, type SignatureScheme, type SignedRequest } from './signature.ts';

/** A probe is not longer than this, in bytes. */
const MAX_PROBE_BYTES = 512;

/** Returns whether a form or a query consists of `ssl_check=1` and at most one token, and of nothing else. */
const isSslCheck = (form: string): boolean => {
  const fields = [...new URLSearchParams(`&${form}`)].sort(([a], [b]) => (a < b ? -1 : 1));
  const [[name, value] = [], [second] = ['token'], ...others] = fields;
  return name === 'ssl_check' && value === '1' && second === 'token' && others.length === 0;
};

const isTestBody = (body: string): boolean => /^\s*\{\s*(?:"test"\s*:\s*true\s*)?\}\s*$/.test(body);

/** Maps providers to whether a request has exactly the form of their check, so that it has no content that could be lost. */
const PROBES: Partial<Record<Provider, (request: SignedRequest, body: string) => boolean>> = {
  // https://github.com/slackapi/bolt-js/issues/1397 shows such a request.
  slack: (request, body) => /^application\/x-www-form-urlencoded\b/i.test(request.header('content-type') ?? '') && isSslCheck(body),
  // "Test connection" in Data Center, which is not signed: https://github.com/runatlantis/atlantis/issues/474
  bitbucket: (request, body) => request.header('x-event-key') === 'diagnostics:ping' && isTestBody(body),
};

/** Returns whether a request is an unsigned check of the address, which has no content. */
export const isUnsignedProbe = (provider: Provider, scheme: SignatureScheme, request: SignedRequest): boolean => {
  const isProbe = PROBES[provider];
  if (!isProbe || !(request.body instanceof Uint8Array) || request.body.length > MAX_PROBE_BYTES) return false;
  return !firstHeader(request, scheme.headers) && isProbe(request, Buffer.from(request.body).toString());
};

/** Returns whether a signed request is a check of the address. That of Bitbucket is recorded, as the ping of GitHub is. */
export const isSignedProbe = (provider: Provider, { body }: SignedRequest): boolean =>
  provider === 'slack' && body instanceof Uint8Array && body.length <= MAX_PROBE_BYTES && isSslCheck(Buffer.from(body).toString());

/** Returns whether the query of a GET request is a check of the address. */
export const isQueryProbe = (provider: Provider, query: string): boolean => provider === 'slack' && isSslCheck(query);
