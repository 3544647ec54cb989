import type { FormUse, InspectedBody } from './body-inspection.ts';
import { type IntegrationOptions, schemeOf } from './custom-scheme.ts';
import type { DeliveryIdentity, ValueSource } from './delivery-identity.ts';
import { valueFrom } from './delivery-identity.ts';
import { handshakePointers } from './handshake.ts';
import type { Provider } from './provider.ts';
import { sameBytesAge } from './retry-schedule.ts';
import { firstHeader, isFresh, isWithin, type SignatureScheme, type SignedRequest } from './signature.ts';
import { signatureSchemes } from './signature-schemes.ts';

/**
 * The field of a body that contains the time of signing in Unix milliseconds. It may differ from the present by
 * `toleranceSeconds`. A provider that sends the same bytes again may do so until they are `maxAgeSeconds` old.
 */
type BodyTimestamp = { readonly pointer: string; readonly toleranceSeconds: number; readonly maxAgeSeconds: number };

type ProviderConventions = {
  readonly delivery: ValueSource;
  readonly event: ValueSource;
  /** `fields` means that the fields of a form are the data. If absent, a form must have a field `payload` with JSON. */
  readonly forms?: 'fields';
  readonly bodyTimestamp?: BodyTimestamp;
  /** Whether the provider also signs the header with the delivery id. A delivery id in the body is always signed. */
  readonly isIdSigned?: true;
};

const header = (...headers: string[]): ValueSource => ({ headers, pointers: [] });
const field = (...pointers: string[]): ValueSource => ({ headers: [], pointers });
/**
 * Returns the source for a delivery id in the body. If the body has none of these fields, the digest of the body is the
 * id.
 */
const idField = (...pointers: string[]): ValueSource => ({ headers: [], pointers, orDigest: true });

/** Maps each provider to where its deliveries contain their id and event name. */
const CONVENTIONS: Readonly<Record<Exclude<Provider, 'custom_hmac'>, ProviderConventions>> = {
  // Gitea and Forgejo send the headers of GitHub, too; Gogs sends only its own.
  github: {
    delivery: header('x-github-delivery', 'x-gitea-delivery', 'x-forgejo-delivery', 'x-gogs-delivery'),
    event: header('x-github-event', 'x-gitea-event', 'x-forgejo-event', 'x-gogs-event'),
  },
  gitlab: { delivery: header('webhook-id'), event: header('x-gitlab-event'), isIdSigned: true },
  // GitLab before 17.4 sends only the last one.
  gitlab_token: { delivery: header('idempotency-key', 'x-gitlab-event-uuid'), event: header('x-gitlab-event') },
  // https://confluence.atlassian.com/bitbucketserver/event-payload-938025882.html: the second one is that of Data Center.
  bitbucket: { delivery: header('x-request-uuid', 'x-request-id'), event: header('x-event-key') },
  jira: { delivery: header('x-atlassian-webhook-identifier', 'x-request-id'), event: field('/webhookEvent') },
  slack: { delivery: idField('/event_id', '/trigger_id'), event: field('/event/type', '/type', '/command'), forms: 'fields' },
  zoom: { delivery: idField(), event: field('/event') },
  stripe: { delivery: idField('/id'), event: field('/type') },
  linear: {
    delivery: header('linear-delivery'),
    event: { headers: ['linear-event'], pointers: ['/type'] },
    bodyTimestamp: { pointer: '/webhookTimestamp', toleranceSeconds: 60, maxAgeSeconds: sameBytesAge('linear') },
  },
  shopify: { delivery: header('x-shopify-event-id', 'x-shopify-webhook-id'), event: header('x-shopify-topic') },
  twilio: {
    delivery: { headers: ['i-twilio-idempotency-token'], pointers: [], orDigest: true },
    event: field('/EventType', '/MessageStatus', '/CallStatus'),
    forms: 'fields',
  },
  discord: { delivery: idField('/id'), event: field('/event/type', '/type') },
  pagerduty: { delivery: header('x-webhook-id'), event: field('/event/event_type') },
  sentry: { delivery: header('request-id'), event: header('sentry-hook-resource') },
  intercom: { delivery: idField('/id'), event: field('/topic') },
  standard_webhooks: { delivery: header('webhook-id', 'svix-id'), event: field('/type'), isIdSigned: true },
};

/** How the deliveries of an integration are verified and read. */
export type ProviderPreset = Omit<ProviderConventions, 'forms' | 'isIdSigned'> & {
  readonly scheme: SignatureScheme;
  readonly forms: FormUse;
  readonly isIdSigned: boolean;
  /** JSON pointers to the body fields that are needed to read a delivery. */
  readonly pointers: readonly string[];
  /** Whether the body must be read to find the delivery id or the signing time, or to answer a handshake. */
  readonly needsBody: boolean;
};

/**
 * Returns the names of headers of which a request must have one and has none, so that its signature cannot be checked;
 * null if there are none.
 */
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

/** The fields of an integration that its preset depends on. */
export type PresetOwner = {
  readonly provider: Provider;
  readonly delivery_id_source: string | null;
  readonly options: IntegrationOptions;
};

const sourceOf = (source: string): ValueSource => (source.startsWith('/') ? idField(source) : header(source.toLowerCase()));

const customConventions = ({ delivery_id_source: source, options }: PresetOwner): ProviderConventions => ({
  delivery: source === null ? idField() : sourceOf(source),
  event: options.event_source === undefined ? field() : { ...sourceOf(options.event_source), orDigest: undefined },
  forms: 'fields',
});

const conventionsOf = (owner: PresetOwner): ProviderConventions =>
  owner.provider === 'custom_hmac' ? customConventions(owner) : CONVENTIONS[owner.provider];

const buildPreset = (owner: PresetOwner): ProviderPreset => {
  const { delivery, event, forms = 'payload', bodyTimestamp, isIdSigned = false } = conventionsOf(owner);
  const handshake = handshakePointers(owner.provider);
  const needsBody = delivery.orDigest === true || bodyTimestamp !== undefined || handshake.length > 0;
  const pointers = [...delivery.pointers, ...event.pointers, ...handshake, ...(bodyTimestamp ? [bodyTimestamp.pointer] : [])];
  return {
    delivery,
    event,
    ...(bodyTimestamp && { bodyTimestamp }),
    scheme: schemeOf(owner.provider, owner.options),
    forms,
    isIdSigned: isIdSigned || delivery.headers.length === 0,
    pointers: [...new Set(pointers)],
    needsBody,
  };
};

const GITHUB: PresetOwner = { provider: 'github', delivery_id_source: null, options: {} };
const presets = new Map(
  Object.keys(signatureSchemes).map((provider) => [provider, buildPreset({ ...GITHUB, provider: provider as Provider })]),
);
const customPresets = new WeakMap<PresetOwner, ProviderPreset>();

/**
 * Returns how the deliveries of an integration are verified and read. For an unknown integration, pass null: its
 * deliveries are then checked like those of `github`, so that the check takes the same time as for a known one.
 */
export const presetOf = (owner: PresetOwner | null): ProviderPreset => {
  const { provider, options } = owner ?? GITHUB;
  const preset = Object.keys(options).length === 0 ? presets.get(provider) : undefined;
  return preset ?? customPresetOf(owner!);
};

const customPresetOf = (owner: PresetOwner): ProviderPreset => {
  const known = customPresets.get(owner) ?? buildPreset(owner);
  customPresets.set(owner, known);
  return known;
};

/** Returns the delivery id and the event name of a request. Without an inspected body, only headers are read. */
export const identityOf = (
  { delivery, event }: ProviderPreset,
  request: Pick<SignedRequest, 'header'>,
  body?: InspectedBody,
): DeliveryIdentity => ({ delivery: valueFrom(delivery, request, body), event: valueFrom(event, request, body) });

/**
 * Returns whether the signing time of a delivery is close enough to the time `at` (RFC 3339), or can be that of an
 * earlier attempt with the same bytes. `body` is required if the signing time is in the body.
 */
export const isTimely = ({ scheme, bodyTimestamp }: ProviderPreset, request: SignedRequest, at: string, body?: InspectedBody): boolean => {
  if (!isFresh(scheme, request, at)) return false;
  if (!bodyTimestamp || !body) return true;
  const signedAt = Number(body.fields[bodyTimestamp.pointer]);
  const age = Date.parse(at) - signedAt;
  return isWithin(signedAt, at, bodyTimestamp.toleranceSeconds) || (age > 0 && age <= bodyTimestamp.maxAgeSeconds * 1_000);
};

/** Returns whether a timely delivery is too old for a first attempt: the provider tries again, or somebody sends a copy. */
export const isLate = ({ bodyTimestamp }: ProviderPreset, at: string, body?: InspectedBody): boolean =>
  bodyTimestamp !== undefined &&
  body !== undefined &&
  !isWithin(Number(body.fields[bodyTimestamp.pointer]), at, bodyTimestamp.toleranceSeconds);
