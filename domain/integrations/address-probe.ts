import { firstHeader, type SignatureScheme, type SignedRequest } from './conventions/signature-scheme.ts';
import { PROVIDER_DEFINITIONS, type Provider } from './provider.ts';

const MAX_PROBE_BYTES = 512;

/** Null if the body is too long for a probe. */
const shortBody = ({ body }: SignedRequest): string | null =>
  body instanceof Uint8Array && body.length <= MAX_PROBE_BYTES ? Buffer.from(body).toString() : null;

/** An unsigned check of the address has no content. */
export const isUnsignedProbe = (provider: Provider, scheme: SignatureScheme, request: SignedRequest): boolean => {
  const { probe } = PROVIDER_DEFINITIONS[provider];
  if (!probe || firstHeader(request, scheme.headers)) return false;
  const body = shortBody(request);
  return body !== null && probe.isUnsigned(request, body);
};

/** Whether a signed request only checks the address. That of Bitbucket is recorded, as the ping of GitHub is. */
export const isSignedProbe = (provider: Provider, request: SignedRequest): boolean => {
  const isForm = PROVIDER_DEFINITIONS[provider].probe?.isForm;
  const body = isForm ? shortBody(request) : null;
  return body !== null && isForm!(body);
};

export const isQueryProbe = (provider: Provider, query: string): boolean => PROVIDER_DEFINITIONS[provider].probe?.isForm?.(query) ?? false;
