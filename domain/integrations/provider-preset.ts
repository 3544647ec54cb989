import type { FormUse, InspectedBody } from '../bodies/body-inspection.ts';
import type { IntegrationSettings, ProviderDefinition } from './conventions/provider-definition.ts';
import { firstHeader, type SignatureScheme, type SignedRequest } from './conventions/signature-scheme.ts';
import type { ValueSource } from './conventions/value-source.ts';
import type { DeliveryIdentity } from './delivery-identity.ts';
import { valueFrom } from './delivery-identity.ts';
import { PROVIDER_DEFINITIONS, PROVIDERS, type Provider } from './provider.ts';
import { sameBytesAge } from './retry-schedule.ts';
import { isFresh, isWithin } from './signature.ts';

/**
 * The field with the time of signing in Unix milliseconds, which may differ from the present by `toleranceSeconds`. A provider that sends
 * the same bytes again may do so until they are `maxAgeSeconds` old.
 */
type BodyTimestamp = { readonly pointer: string; readonly toleranceSeconds: number; readonly maxAgeSeconds: number };

/** How the deliveries of an integration are verified and read. */
export type ProviderPreset = {
  readonly delivery: ValueSource;
  readonly event: ValueSource;
  readonly bodyTimestamp?: BodyTimestamp;
  readonly scheme: SignatureScheme;
  readonly forms: FormUse;
  readonly isIdSigned: boolean;
  /** Body fields that are needed to read a delivery. */
  readonly pointers: readonly string[];
  /** Whether the body is needed to find the delivery id or the signing time, or to answer a handshake. */
  readonly needsBody: boolean;
};

/** A request must have one of these headers and has none, so that its signature cannot be checked. */
export const missingHeaders = (
  { scheme, delivery, isIdSigned }: ProviderPreset,
  request: Pick<SignedRequest, 'header'>,
): readonly string[] | null => {
  const needed = [
    [...scheme.headers, ...(scheme.otherwise?.headers ?? [])],
    scheme.timestamp?.headers ?? [],
    isIdSigned ? delivery.headers : [],
  ];
  return needed.find((names) => names.length > 0 && !firstHeader(request, names)) ?? null;
};

export type PresetOwner = IntegrationSettings & { readonly provider: Provider };

const conventionsOf = (owner: PresetOwner): ProviderDefinition => {
  const definition = PROVIDER_DEFINITIONS[owner.provider];
  return { ...definition, ...definition.withSettings?.(owner) };
};

const bodyTimestampOf = ({ bodyTimestamp, retries }: ProviderDefinition): BodyTimestamp | undefined =>
  bodyTimestamp && { ...bodyTimestamp, maxAgeSeconds: retries?.signs === 'same' ? sameBytesAge(retries) : bodyTimestamp.toleranceSeconds };

const buildPreset = (owner: PresetOwner): ProviderPreset => {
  const conventions = conventionsOf(owner);
  const { scheme, delivery, event, forms = 'payload', isIdSigned = false } = conventions;
  const bodyTimestamp = bodyTimestampOf(conventions);
  const handshake = conventions.handshake?.pointers ?? [];
  const needsBody = delivery.orDigest === true || delivery.shared !== undefined || bodyTimestamp !== undefined || handshake.length > 0;
  const pointers = [...delivery.pointers, ...event.pointers, ...handshake, ...(bodyTimestamp ? [bodyTimestamp.pointer] : [])];
  return {
    delivery,
    event,
    ...(bodyTimestamp && { bodyTimestamp }),
    scheme,
    forms,
    isIdSigned: isIdSigned || delivery.headers.length === 0,
    pointers: [...new Set(pointers)],
    needsBody,
  };
};

const GITHUB: PresetOwner = { provider: 'github', delivery_id_source: null, options: {} };
/** For integrations without settings of their own. */
const presets = new Map(PROVIDERS.map((provider) => [provider, buildPreset({ ...GITHUB, provider })]));
const customPresets = new WeakMap<PresetOwner, ProviderPreset>();

/** Null: an unknown integration, checked like one of `github`, so that this takes the same time as for a known one. */
export const presetOf = (owner: PresetOwner | null): ProviderPreset => {
  const { provider, delivery_id_source, options } = owner ?? GITHUB;
  const preset = delivery_id_source === null && Object.keys(options).length === 0 ? presets.get(provider) : undefined;
  return preset ?? customPresetOf(owner!);
};

const customPresetOf = (owner: PresetOwner): ProviderPreset => {
  const known = customPresets.get(owner) ?? buildPreset(owner);
  customPresets.set(owner, known);
  return known;
};

/** Without an inspected body, only headers are read. */
export const identityOf = (
  { delivery, event }: ProviderPreset,
  request: Pick<SignedRequest, 'header'>,
  body?: InspectedBody,
): DeliveryIdentity => ({ delivery: valueFrom(delivery, request, body), event: valueFrom(event, request, body) });

/**
 * Whether the signed time is close enough to `at` (RFC 3339), or of an earlier attempt with the same bytes. `body` is required if the
 * signing time is in it.
 */
export const isTimely = ({ scheme, bodyTimestamp }: ProviderPreset, request: SignedRequest, at: string, body?: InspectedBody): boolean => {
  if (!isFresh(scheme, request, at)) return false;
  if (!bodyTimestamp || !body) return true;
  const signedAt = Number(body.fields[bodyTimestamp.pointer]);
  const age = Date.parse(at) - signedAt;
  return isWithin(signedAt, at, bodyTimestamp.toleranceSeconds) || (age > 0 && age <= bodyTimestamp.maxAgeSeconds * 1_000);
};

/** Whether the signed time is within the accepted age, but too old for the first attempt: a retry by the provider or a replay by someone else. */
export const isLate = ({ bodyTimestamp }: ProviderPreset, at: string, body?: InspectedBody): boolean =>
  bodyTimestamp !== undefined &&
  body !== undefined &&
  !isWithin(Number(body.fields[bodyTimestamp.pointer]), at, bodyTimestamp.toleranceSeconds);
