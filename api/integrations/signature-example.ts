import { IntegrationOptions } from '../../domain/integrations/conventions/integration-options.ts';
import { PROVIDER_DEFINITIONS } from '../../domain/integrations/provider.ts';
import { checkOptions } from '../../domain/integrations/provider-options.ts';
import { type PresetOwner, presetOf } from '../../domain/integrations/provider-preset.ts';
import { canSign, signatureHeaders } from '../../domain/integrations/sign-delivery.ts';
import { type FieldError, Refusal } from '../../domain/refusal.ts';
import { curlScheme } from './curl-scheme.ts';

/** The sender whose signature people describe themselves. */
export const CUSTOM_SENDER = 'custom_hmac';
const SECRET = 'example-secret';
/** The Unix time of the example, in seconds. */
const TIME = 1_767_225_600;

/**
 * How a custom sender signs an example: the bytes that it signs as text, and its headers. A header without a value has a
 * signature that only the sender can make.
 */
export type SignatureExample = {
  readonly secret: string;
  readonly signed: string;
  readonly headers: readonly (readonly [name: string, value: string | null])[];
};

const signedBy = (owner: PresetOwner, body: string): SignatureExample => {
  const { scheme } = presetOf(owner);
  const signed = scheme.template.replace('{timestamp}', String(TIME)).replace('{body}', () => body);
  const named = curlScheme(CUSTOM_SENDER, owner);
  const { header = 'X-Signature', timestamp_header } = owner.options;
  if (!canSign(scheme) || named === null)
    return { secret: SECRET, signed, headers: [...(timestamp_header ? [[timestamp_header, String(TIME)] as const] : []), [header, null]] };
  const request = { header: () => undefined, url: () => '', body: Buffer.from(body) };
  const values = signatureHeaders(scheme, request, scheme.key(SECRET), TIME);
  const names = [named.signature.header, named.time].filter((name) => name !== undefined);
  return { secret: SECRET, signed, headers: names.map((name) => [name, values[name.toLowerCase()] ?? null]) };
};

/** Signs an example as the options of a custom sender say. Returns what is wrong with them if they cannot be used. */
export const signatureExample = (given: unknown): SignatureExample | { readonly errors: readonly FieldError[] } => {
  const parsed = IntegrationOptions.safeParse(given ?? {});
  if (!parsed.success)
    return {
      errors: parsed.error.issues.map(({ path, message, code }) => ({ pointer: `/options/${path.join('/')}`, message, code })),
    };
  try {
    checkOptions(CUSTOM_SENDER, parsed.data);
  } catch (error) {
    if (error instanceof Refusal) return { errors: error.extra.errors ?? [] };
    throw error;
  }
  const [sample] = PROVIDER_DEFINITIONS[CUSTOM_SENDER].samples;
  return signedBy({ provider: CUSTOM_SENDER, options: parsed.data, delivery_id_source: null }, sample!.body);
};
