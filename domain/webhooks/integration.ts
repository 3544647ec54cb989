import { changedFields } from '../aggregate.ts';
import type { Recorded } from '../event.ts';
import { invalid, Refusal } from '../refusal.ts';
import { type SignedProvider, signatureSchemes } from './signature.ts';

export const category = 'integration';
export const platform = true;

export const PROVIDERS = [
  'github',
  'gitlab',
  'gitlab_token',
  'bitbucket',
  'jira',
  'slack',
  'zoom',
  'stripe',
  'linear',
  'shopify',
  'twilio',
  'discord',
  'pagerduty',
  'sentry',
  'intercom',
  'standard_webhooks',
  'custom_hmac',
] as const;
export type Provider = (typeof PROVIDERS)[number];

/** What a known body under a new delivery id is: marked in the views, refused, or nothing. */
export const REPLAY_GUARDS = ['mark', 'block', 'off'] as const;
export type ReplayGuard = (typeof REPLAY_GUARDS)[number];

export type IntegrationSettings = {
  agent_id: string;
  label: string;
  /** The providers' events that pass; none: all of them. */
  event_filter: readonly string[];
  replay_guard: ReplayGuard;
  options: Readonly<Record<string, unknown>>;
};

export type IntegrationConnection = IntegrationSettings & {
  tenant_id: string;
  provider: Provider;
  delivery_id_source: string | null;
  sealed_secret: string;
  secret_hint: string;
};

export type IntegrationChanges = Partial<IntegrationSettings & { is_paused: boolean; paused_reason: string | null }>;

export type IntegrationEvent =
  | { type: 'IntegrationConnected'; data: IntegrationConnection }
  | { type: 'IntegrationUpdated'; data: IntegrationChanges }
  | { type: 'IntegrationSecretRotated'; data: { sealed_secret: string; secret_hint: string; previous_secret_valid_until: string | null } }
  | { type: 'IntegrationDisconnected'; data: object };

export type Integration = Omit<IntegrationConnection, 'provider'> & {
  status: 'absent' | 'connected' | 'disconnected';
  id: string;
  provider: Provider;
  sealed_previous_secret: string | null;
  previous_secret_valid_until: string | null;
  is_paused: boolean;
  paused_reason: string | null;
  created_at: string;
  updated_at: string;
};

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
  is_paused: false,
  paused_reason: null,
  created_at: '',
  updated_at: '',
};

export const evolve = (integration: Integration, event: Recorded<IntegrationEvent>): Integration => {
  const { id, at: updated_at } = event;
  switch (event.type) {
    case 'IntegrationConnected':
      return { ...integration, ...event.data, status: 'connected', id, created_at: updated_at, updated_at };
    case 'IntegrationUpdated':
      return { ...integration, ...event.data, updated_at };
    case 'IntegrationSecretRotated': {
      const kept = event.data.previous_secret_valid_until === null ? null : integration.sealed_secret;
      return { ...integration, ...event.data, sealed_previous_secret: kept, updated_at };
    }
    case 'IntegrationDisconnected':
      return { ...integration, status: 'disconnected', updated_at };
  }
};

/** Whether deliveries of this provider can be verified yet. */
export const isSigned = (provider: Provider): provider is SignedProvider => provider in signatureSchemes;

const MIN_SECRET_LENGTH = 24;

/** @throws Refusal invalid where a secret of the user's own choice is short */
export const checkSecret = (secret: string | undefined): void => {
  if (secret !== undefined && new TextEncoder().encode(secret).length < MIN_SECRET_LENGTH)
    throw invalid('/secret', `must be at least ${MIN_SECRET_LENGTH} bytes`, 'too_small');
};

/** @throws Refusal invalid where the provider can't be verified, or what is chosen does not go with it */
export const checkConnection = (provider: Provider, delivery_id_source: string | null, secret: string | undefined): void => {
  if (!isSigned(provider)) {
    throw invalid('/provider', `deliveries of ${provider} can not be verified yet: only github's can`, 'unsupported_provider');
  }
  if (delivery_id_source !== null) throw invalid('/delivery_id_source', 'must be absent: github names its deliveries in X-GitHub-Delivery');
  checkSecret(secret);
};

/** Where the provider posts to, below the platform's own address. */
export const pathOf = (id: string): string => `/hooks/inbound/${id}`;

/** What is shown of a secret for telling one from another: its last four characters. */
export const hintOf = (secret: string): string => `…${secret.slice(-4)}`;

/** @throws Refusal not_found where it isn't connected, or is another tenant's */
export const present = (integration: Integration, tenant_id: string): void => {
  if (integration.status !== 'connected' || integration.tenant_id !== tenant_id)
    throw new Refusal('not_found', 'there is no such webhook integration');
};

export const connect =
  (data: IntegrationConnection) =>
  (integration: Integration): IntegrationEvent[] => {
    if (integration.status !== 'absent') throw new Refusal('conflict', 'this integration exists already');
    return [{ type: 'IntegrationConnected', data }];
  };

/** Changes settings; resuming clears the reason for the pause. @throws Refusal not_found */
export const update =
  (tenant_id: string, changes: IntegrationChanges) =>
  (integration: Integration): IntegrationEvent[] => {
    present(integration, tenant_id);
    const wanted = changes.is_paused === false ? { ...changes, paused_reason: null } : changes;
    const data = changedFields(integration, wanted);
    return Object.keys(data).length > 0 ? [{ type: 'IntegrationUpdated', data }] : [];
  };

/** The secret so far stays good for `overlap` seconds after `at`. @throws Refusal not_found */
export const rotateSecret =
  (tenant_id: string, secret: { sealed_secret: string; secret_hint: string }, overlap: number, at: string) =>
  (integration: Integration): IntegrationEvent[] => {
    present(integration, tenant_id);
    const previous_secret_valid_until = overlap > 0 ? new Date(Date.parse(at) + overlap * 1000).toISOString() : null;
    return [{ type: 'IntegrationSecretRotated', data: { ...secret, previous_secret_valid_until } }];
  };

/** @throws Refusal not_found */
export const disconnect =
  (tenant_id: string) =>
  (integration: Integration): IntegrationEvent[] => {
    present(integration, tenant_id);
    return [{ type: 'IntegrationDisconnected', data: {} }];
  };

/** Whether the secret before the last rotation still counts; `at` RFC 3339 UTC with milliseconds. */
export const acceptsPreviousSecret = ({ sealed_previous_secret, previous_secret_valid_until }: Integration, at: string): boolean =>
  sealed_previous_secret !== null && previous_secret_valid_until !== null && at < previous_secret_valid_until;
