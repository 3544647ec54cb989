import { firstHeader, type SignatureScheme, type SignedRequest } from './conventions/signature-scheme.ts';
import { PROVIDER_DEFINITIONS, type Provider } from './provider.ts';

const MAX_PROBE_BYTES = 512;

/** Returns the body of a request as a text; null if it is too long for a probe. */
const shortBody = ({ body }: SignedRequest): string | null =>
  body instanceof Uint8Array && body.length <= MAX_PROBE_BYTES ? Buffer.from(body).toString() : null;

/** Returns whether a request is an unsigned check of the address, which has no content. */
export const isUnsignedProbe = (provider: Provider, scheme: SignatureScheme, request: SignedRequest): boolean => {
  const { probe } = PROVIDER_DEFINITIONS[provider];
  if (!probe || firstHeader(request, scheme.headers)) return false;
  const body = shortBody(request);
  return body !== null && probe.isUnsigned(request, body);
};

/** Returns whether a signed request is a check of the address. That of Bitbucket is recorded, as the ping of GitHub is. */
export const isSignedProbe = (provider: Provider, request: SignedRequest): boolean => {
  const isForm = PROVIDER_DEFINITIONS[provider].probe?.isForm;
  const body = isForm ? shortBody(request) : null;
  return body !== null && isForm!(body);
};

/** Returns whether the query of a GET request is a check of the address. */
export const isQueryProbe = (provider: Provider, query: string): boolean => PROVIDER_DEFINITIONS[provider].probe?.isForm?.(query) ?? false;
