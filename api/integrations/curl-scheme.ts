import { DEFAULT_HEADER, type IntegrationOptions } from '../../domain/integrations/conventions/integration-options.ts';
import type { SignatureScheme } from '../../domain/integrations/conventions/signature-scheme.ts';
import { findDefinition, type Provider } from '../../domain/integrations/provider.ts';
import { type PresetOwner, presetOf } from '../../domain/integrations/provider-preset.ts';
import { canSign } from '../../domain/integrations/sign-delivery.ts';

type Settings = { readonly options: object; readonly delivery_id_source: string | null };

/**
 * How a provider signs, as far as a shell command needs it. `algorithm` is the hash function of the HMAC; `token` means
 * that the header has the secret itself. `template` is what is signed, with `{body}`, `{id}`, `{timestamp}` or `{url}`.
 */
export type CurlScheme = {
  readonly algorithm: 'sha256' | 'sha1' | 'sha512' | 'token';
  /** `whsec`: the key consists of the bytes that the secret has in base64 after `whsec_`. */
  readonly key: 'text' | 'whsec';
  readonly encoding: 'hex' | 'base64';
  readonly template: string;
  /** The header of the signature. With `timePrefix`, it also has the time: this prefix, the time, a comma. */
  readonly signature: { readonly header: string; readonly prefix: string; readonly timePrefix?: string };
  /** The header with the delivery id; absent if the id is in the body. */
  readonly id?: string;
  /** The header with the event name; absent if the name is in the body. */
  readonly event?: string;
  readonly time?: string;
  /** The field of the body with the time of signing, in milliseconds. */
  readonly bodyTime?: string;
  /** The query parameter of the URL with the digest of the body. */
  readonly urlDigest?: string;
};

/** Returns a function that writes the name of a header as the settings of the integration do. */
const spellingOf = ({ options, delivery_id_source }: Settings) => {
  const written = [delivery_id_source, ...Object.values(options), DEFAULT_HEADER].filter((value) => typeof value === 'string');
  return (name: string): string => written.find((value) => value.toLowerCase() === name) ?? name;
};

const timeHeaders = ({ headers, prefix = '', timestamp }: SignatureScheme, spelled: (name: string) => string) => {
  const header = headers[0]!;
  const time = timestamp?.headers[0];
  const signature = { header: spelled(header), prefix };
  if (time === undefined) return { signature };
  return time === header ? { signature: { ...signature, timePrefix: 't=' } } : { signature, time: spelled(time) };
};

const schemeFor = (owner: PresetOwner, { secret, urlDigest }: NonNullable<ReturnType<typeof findDefinition>>): CurlScheme | null => {
  const { scheme, delivery, event, bodyTimestamp } = presetOf(owner);
  if (!canSign(scheme)) return null;
  const spelled = spellingOf(owner);
  const id = delivery.headers[0];
  return {
    algorithm: scheme.algorithm as CurlScheme['algorithm'],
    key: secret?.form === 'whsec' ? 'whsec' : 'text',
    encoding: scheme.encoding === 'base64' ? 'base64' : 'hex',
    template: scheme.template,
    ...timeHeaders(scheme, spelled),
    ...(id !== undefined && { id: spelled(id) }),
    ...(event.headers[0] !== undefined && { event: spelled(event.headers[0]) }),
    ...(bodyTimestamp && { bodyTime: bodyTimestamp.pointer.slice(1) }),
    ...(urlDigest !== undefined && { urlDigest }),
  };
};

/**
 * Returns how a provider signs. Null if it does not sign, or if only the provider can sign. `integration` is null if it is not known: then
 * the scheme of a provider with options is not known either.
 */
export const curlScheme = (provider: string | null, integration: Settings | null): CurlScheme | null => {
  const definition = findDefinition(provider ?? '');
  if (!definition || (definition.options && !integration)) return null;
  const { options = {}, delivery_id_source = null } = (definition.options && integration) || {};
  return schemeFor({ provider: provider as Provider, options: options as IntegrationOptions, delivery_id_source }, definition);
};
