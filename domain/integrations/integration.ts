import { changedFields, jsonEqual } from '../aggregate.ts';
import type { Recorded } from '../event.ts';
import type { GuardrailRule } from '../guardrails/guardrail-rule.ts';
import { invalid, Refusal } from '../refusal.ts';
import type { IntegrationOptions } from './conventions/integration-options.ts';
import { checkIdSource } from './conventions/source-checks.ts';
import type { Provider } from './provider.ts';
import { checkOptions } from './provider-options.ts';
import { presetOf } from './provider-preset.ts';
import { readSecret, usesPublicKey } from './provider-secret.ts';

export const category = 'integration';
export const platform = true;

/** A body replay is a known body with a new delivery id. `mark`: read models mark it; `block`: it is blocked; `off`: like any other delivery. */
export const REPLAY_GUARDS = ['mark', 'block', 'off'] as const;
export type ReplayGuard = (typeof REPLAY_GUARDS)[number];

export type IntegrationSettings = {
  agent_id: string;
  label: string;
  /** The provider's events that are accepted; empty: all. */
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

/** Encrypted; the previous one is null if there is none. */
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
  /** Null if the secret was never replaced. */
  secret_rotated_at: string | null;
  is_paused: boolean;
  paused_reason: string | null;
  /** They apply after the rules of the tenant. */
  guardrails: readonly GuardrailRule[];
  created_at: string;
  updated_at: string;
};

/** An integration or the webhook of a skill. */
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

/** How deliveries are verified and read. */
export type IntegrationSource = Pick<IntegrationConnection, 'provider' | 'delivery_id_source' | 'options'>;

/**
 * The provider must support the options and the secret; only custom_hmac may set where its delivery id is.
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

/** Used if the user has not chosen one. If the provider signs the delivery id, a known body cannot be sent with another id. */
export const defaultReplayGuard = (source: IntegrationSource): ReplayGuard => (presetOf(source).isIdSigned ? 'off' : 'mark');

/** Below the public URL of the platform. */
export const inboundPath = (id: string): string => `/hooks/inbound/${id}`;

/** The last four characters after an ellipsis, so that users can tell their secrets apart. */
export const secretHint = (secret: string): string => `…${secret.slice(-4)}`;

/** @throws Refusal not_found if it is not connected or belongs to another tenant */
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

/** Resuming also clears `paused_reason`. @throws Refusal not_found, invalid if the provider does not have these options */
export const update =
  (tenant_id: string, changes: IntegrationChanges) =>
  (integration: Integration): IntegrationEvent[] => {
    assertConnected(integration, tenant_id);
    if (changes.options) checkChangedOptions(integration, changes.options);
    const fields = changes.is_paused === false ? { ...changes, paused_reason: null } : changes;
    const data = changedFields(integration, fields);
    return Object.keys(data).length > 0 ? [{ type: 'IntegrationUpdated', data }] : [];
  };

/** The previous secret stays valid until `overlapSeconds` after `at` (RFC 3339). @throws Refusal not_found if it is not connected */
export const rotateSecret =
  (tenant_id: string, secret: { sealed_secret: string; secret_hint: string }, overlapSeconds: number, at: string) =>
  (integration: Integration): IntegrationEvent[] => {
    assertConnected(integration, tenant_id);
    const previous_secret_valid_until = overlapSeconds > 0 ? new Date(Date.parse(at) + overlapSeconds * 1000).toISOString() : null;
    return [{ type: 'IntegrationSecretRotated', data: { ...secret, previous_secret_valid_until } }];
  };

/** From now on, the previous secret is not accepted. @throws Refusal not_found if the integration is not connected */
export const dropPreviousSecret =
  (tenant_id: string) =>
  (integration: Integration): IntegrationEvent[] => {
    assertConnected(integration, tenant_id);
    return integration.sealed_previous_secret === null ? [] : [{ type: 'IntegrationPreviousSecretDropped', data: {} }];
  };

/** Encrypts the same secrets with another data key. Does nothing if the stored ones are no longer `sealed`. */
export const resealSecret =
  (sealed: SealedSecrets, resealed: SealedSecrets) =>
  ({ status, sealed_secret, sealed_previous_secret }: Integration): IntegrationEvent[] =>
    status === 'connected' && jsonEqual({ sealed_secret, sealed_previous_secret }, sealed)
      ? [{ type: 'IntegrationSecretResealed', data: resealed }]
      : [];

/** @throws Refusal not_found if it is not connected */
export const replaceGuardrails =
  (tenant_id: string, rules: readonly GuardrailRule[]) =>
  (integration: Integration): IntegrationEvent[] => {
    assertConnected(integration, tenant_id);
    return jsonEqual(rules, integration.guardrails) ? [] : [{ type: 'GuardrailsReplaced', data: { rules } }];
  };

/** The webhook URL no longer accepts deliveries. @throws Refusal not_found if it is not connected */
export const disconnect =
  (tenant_id: string) =>
  (integration: Integration): IntegrationEvent[] => {
    assertConnected(integration, tenant_id);
    return [{ type: 'IntegrationDisconnected', data: {} }];
  };

/** The secret before the last rotation, at `at` (RFC 3339 UTC with milliseconds). */
export const acceptsPreviousSecret = ({ sealed_previous_secret, previous_secret_valid_until }: Integration, at: string): boolean =>
  sealed_previous_secret !== null && previous_secret_valid_until !== null && at < previous_secret_valid_until;
