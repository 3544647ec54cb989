import { changedFields, jsonEqual } from '../aggregate.ts';
import type { Recorded } from '../event.ts';
import { invalid, Refusal } from '../refusal.ts';
import type { IntegrationOptions } from './conventions/integration-options.ts';
import { checkIdSource } from './conventions/source-checks.ts';
import type { GuardrailRule } from './guardrail-rule.ts';
import type { Provider } from './provider.ts';
import { checkOptions } from './provider-options.ts';
import { presetOf } from './provider-preset.ts';
import { readSecret, usesPublicKey } from './provider-secret.ts';

export const category = 'integration';
export const platform = true;

/**
 * What happens to a body replay, which is a known body with a new delivery id. `mark`: read models mark it. `block`: it
 * is blocked. `off`: it is treated like any other delivery.
 */
export const REPLAY_GUARDS = ['mark', 'block', 'off'] as const;
export type ReplayGuard = (typeof REPLAY_GUARDS)[number];

export type IntegrationSettings = {
  agent_id: string;
  label: string;
  /** The names of the provider's events that are accepted. If the list is empty, all events are. */
  event_filter: readonly string[];
  replay_guard: ReplayGuard;
  options: IntegrationOptions;
};

export type IntegrationConnection = IntegrationSettings & {
  tenant_id: string;
  provider: Provider;
  delivery_id_source: string | null;
  sealed_secret: string;
  secret_hint: string;
};

export type IntegrationChanges = Partial<IntegrationSettings & { is_paused: boolean; paused_reason: string | null }>;

/** The encrypted secret, and the encrypted previous secret, which is null if there is none. */
export type SealedSecrets = { readonly sealed_secret: string; readonly sealed_previous_secret: string | null };

export type IntegrationEvent =
  | { type: 'IntegrationConnected'; data: IntegrationConnection }
  | { type: 'IntegrationUpdated'; data: IntegrationChanges }
  | { type: 'IntegrationSecretRotated'; data: { sealed_secret: string; secret_hint: string; previous_secret_valid_until: string | null } }
  | { type: 'IntegrationSecretResealed'; data: SealedSecrets }
  | { type: 'IntegrationPreviousSecretDropped'; data: object }
  | { type: 'GuardrailsReplaced'; data: { rules: readonly GuardrailRule[] } }
  | { type: 'IntegrationDisconnected'; data: object };

export type Integration = Omit<IntegrationConnection, 'provider'> & {
  status: 'absent' | 'connected' | 'disconnected';
  id: string;
  provider: Provider;
  sealed_previous_secret: string | null;
  previous_secret_valid_until: string | null;
  /** The time at which the secret was last replaced; null if it never was. */
  secret_rotated_at: string | null;
  is_paused: boolean;
  paused_reason: string | null;
  /** The guardrail rules for the deliveries of this integration. They apply after the rules of the tenant. */
  guardrails: readonly GuardrailRule[];
  created_at: string;
  updated_at: string;
};

/** What guardrails need to know about the source of a delivery, which is an integration or the webhook of a skill. */
export type GuardedSource = Pick<Integration, 'id' | 'tenant_id' | 'agent_id' | 'guardrails'> & { readonly provider: string };

export const initial: Integration = {
  status: 'absent',
  id: '',
  tenant_id: '',
  provider: 'github',
  agent_id: '',
  label: '',
  delivery_id_source: null,
  event_filter: [],
  replay_guard: 'mark',
  options: {},
  sealed_secret: '',
  secret_hint: '',
  sealed_previous_secret: null,
  previous_secret_valid_until: null,
  secret_rotated_at: null,
  is_paused: false,
  paused_reason: null,
  guardrails: [],
  created_at: '',
  updated_at: '',
};

export const evolve = (integration: Integration, event: Recorded<IntegrationEvent>): Integration => {
  const { id, at: updated_at } = event;
  switch (event.type) {
    case 'IntegrationConnected':
      return { ...integration, ...event.data, status: 'connected', id, created_at: updated_at, updated_at };
    case 'IntegrationUpdated':
    case 'IntegrationSecretResealed':
      return { ...integration, ...event.data, updated_at };
    case 'IntegrationSecretRotated': {
      const sealed_previous_secret = event.data.previous_secret_valid_until === null ? null : integration.sealed_secret;
      return { ...integration, ...event.data, sealed_previous_secret, secret_rotated_at: updated_at, updated_at };
    }
    case 'IntegrationPreviousSecretDropped':
      return { ...integration, sealed_previous_secret: null, previous_secret_valid_until: null, updated_at };
    case 'GuardrailsReplaced':
      return { ...integration, guardrails: event.data.rules, updated_at };
    case 'IntegrationDisconnected':
      return { ...integration, status: 'disconnected', updated_at };
  }
};

/** The fields that say how the deliveries of an integration are verified and read. */
export type IntegrationSource = Pick<IntegrationConnection, 'provider' | 'delivery_id_source' | 'options'>;

/**
 * Checks the arguments for a new integration: the provider must support the options and the secret, and only an
 * integration of custom_hmac may set where its delivery id is.
 * @returns the secret as it is used; undefined if the platform has to create one
 * @throws Refusal invalid if not
 */
export const checkConnection = (
  { provider, delivery_id_source, options }: IntegrationSource,
  secret: string | undefined,
): string | undefined => {
  if (delivery_id_source !== null && provider !== 'custom_hmac')
    throw invalid('/delivery_id_source', `must be null or absent: the platform knows where ${provider} puts the delivery id`);
  checkOptions(provider, options);
  if (delivery_id_source !== null) checkIdSource('/delivery_id_source', delivery_id_source);
  return readSecret(provider, options, secret);
};

/**
 * Returns how body replays are treated if the user has not chosen this. If the provider signs the delivery id, nobody
 * can send a known body with another id, so body replays are marked for the other providers only.
 */
export const defaultReplayGuard = (source: IntegrationSource): ReplayGuard => (presetOf(source).isIdSigned ? 'off' : 'mark');

/** Returns the URL path to which the provider sends its deliveries, below the public URL of the platform. */
export const inboundPath = (id: string): string => `/hooks/inbound/${id}`;

/** Returns the last four characters of a secret after an ellipsis, so that users can tell their secrets apart. */
export const secretHint = (secret: string): string => `…${secret.slice(-4)}`;

/** Checks that the integration is connected and belongs to the tenant. @throws Refusal not_found if not */
export const assertConnected = (integration: Integration, tenant_id: string): void => {
  if (integration.status !== 'connected' || integration.tenant_id !== tenant_id)
    throw new Refusal('not_found', 'There is no such webhook integration');
};

export const connect =
  (data: IntegrationConnection) =>
  (integration: Integration): IntegrationEvent[] => {
    if (integration.status !== 'absent') throw new Refusal('conflict', 'This integration already exists');
    return [{ type: 'IntegrationConnected', data }];
  };

const checkChangedOptions = ({ provider, options }: Integration, changed: IntegrationOptions): void => {
  checkOptions(provider, changed);
  if (usesPublicKey(provider, changed) !== usesPublicKey(provider, options))
    throw invalid(
      '/options/algorithm',
      'cannot change between ed25519 and HMAC, because the secret does not fit both: connect a new integration',
    );
};

/**
 * Changes settings of the integration. Resuming a paused integration also clears `paused_reason`.
 * @throws Refusal not_found if it is not connected, invalid if the provider does not have these options
 */
export const update =
  (tenant_id: string, changes: IntegrationChanges) =>
  (integration: Integration): IntegrationEvent[] => {
    assertConnected(integration, tenant_id);
    if (changes.options) checkChangedOptions(integration, changes.options);
    const fields = changes.is_paused === false ? { ...changes, paused_reason: null } : changes;
    const data = changedFields(integration, fields);
    return Object.keys(data).length > 0 ? [{ type: 'IntegrationUpdated', data }] : [];
  };

/**
 * Replaces the secret of the integration. The previous secret stays valid until `overlapSeconds` seconds after the time
 * `at` (RFC 3339).
 * @throws Refusal not_found if the integration is not connected
 */
export const rotateSecret =
  (tenant_id: string, secret: { sealed_secret: string; secret_hint: string }, overlapSeconds: number, at: string) =>
  (integration: Integration): IntegrationEvent[] => {
    assertConnected(integration, tenant_id);
    const previous_secret_valid_until = overlapSeconds > 0 ? new Date(Date.parse(at) + overlapSeconds * 1000).toISOString() : null;
    return [{ type: 'IntegrationSecretRotated', data: { ...secret, previous_secret_valid_until } }];
  };

/**
 * Ends the overlap after a rotation: from now on, the previous secret is not accepted.
 * @throws Refusal not_found if the integration is not connected
 */
export const dropPreviousSecret =
  (tenant_id: string) =>
  (integration: Integration): IntegrationEvent[] => {
    assertConnected(integration, tenant_id);
    return integration.sealed_previous_secret === null ? [] : [{ type: 'IntegrationPreviousSecretDropped', data: {} }];
  };

/**
 * Replaces the stored secrets, which are encrypted with an old data key (`sealed`), with the same secrets encrypted
 * with another data key. Does nothing if the stored secrets are no longer `sealed`.
 */
export const resealSecret =
  (sealed: SealedSecrets, resealed: SealedSecrets) =>
  ({ status, sealed_secret, sealed_previous_secret }: Integration): IntegrationEvent[] =>
    status === 'connected' && jsonEqual({ sealed_secret, sealed_previous_secret }, sealed)
      ? [{ type: 'IntegrationSecretResealed', data: resealed }]
      : [];

/** Replaces the guardrail rules of the integration. @throws Refusal not_found if it is not connected */
export const replaceGuardrails =
  (tenant_id: string, rules: readonly GuardrailRule[]) =>
  (integration: Integration): IntegrationEvent[] => {
    assertConnected(integration, tenant_id);
    return jsonEqual(rules, integration.guardrails) ? [] : [{ type: 'GuardrailsReplaced', data: { rules } }];
  };

/**
 * Disconnects the integration: its webhook URL no longer accepts deliveries.
 * @throws Refusal not_found if it is not connected
 */
export const disconnect =
  (tenant_id: string) =>
  (integration: Integration): IntegrationEvent[] => {
    assertConnected(integration, tenant_id);
    return [{ type: 'IntegrationDisconnected', data: {} }];
  };

/**
 * Returns whether the secret before the last rotation is still valid at the time `at` (RFC 3339 UTC with milliseconds).
 */
export const acceptsPreviousSecret = ({ sealed_previous_secret, previous_secret_valid_until }: Integration, at: string): boolean =>
  sealed_previous_secret !== null && previous_secret_valid_until !== null && at < previous_secret_valid_until;
