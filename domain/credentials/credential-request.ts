import type { Recorded } from '../event.ts';
import { conflict, Refusal } from '../refusal.ts';

/** A runner requests a value that its agent lacks, such as a password. The value that a person submits is stored in the configuration of a skill. */
export const category = 'credentialrequest';

export const REQUEST_LIFETIME_DAYS = 7;

export const REQUEST_STATUSES = ['open', 'fulfilled', 'expired'] as const;
export type RequestStatus = (typeof REQUEST_STATUSES)[number];

/** `config_key`: where the skill's configuration stores the value. `expires_at`: RFC 3339 UTC. */
export type RequestFields = {
  readonly agent_id: string;
  readonly skill_id: string;
  readonly config_key: string;
  readonly prompt: string;
  readonly expires_at: string;
};

/** `config_revision`: the agent's revision whose event contains the encrypted configuration with the value. */
export type SubmittedCredential = Pick<RequestFields, 'agent_id' | 'skill_id' | 'config_key'> & { readonly config_revision: number };

export type CredentialRequestEvent =
  | { type: 'CredentialRequested'; data: RequestFields }
  | { type: 'CredentialSubmitted'; data: SubmittedCredential };

export type CredentialRequest = RequestFields & {
  readonly status: 'absent' | 'open' | 'fulfilled';
  readonly id: string;
  readonly tenant_id: string;
  readonly created_at: string;
  readonly updated_at: string;
};

export const initial: CredentialRequest = {
  status: 'absent',
  id: '',
  tenant_id: '',
  agent_id: '',
  skill_id: '',
  config_key: '',
  prompt: '',
  expires_at: '',
  created_at: '',
  updated_at: '',
};

export const evolve = (request: CredentialRequest, { id, tenant, at, type, data }: Recorded<CredentialRequestEvent>): CredentialRequest => {
  switch (type) {
    case 'CredentialRequested':
      return { ...data, status: 'open', id, tenant_id: tenant, created_at: at, updated_at: at };
    case 'CredentialSubmitted':
      return { ...request, status: 'fulfilled', updated_at: at };
  }
};

/** `at` is RFC 3339 UTC. A request expires without an event. */
export const statusAt = (status: RequestStatus, expires_at: string, at: string): RequestStatus =>
  status === 'open' && expires_at <= at ? 'expired' : status;

/** @throws Refusal not_found */
export const assertExists = ({ status }: Pick<CredentialRequest, 'status'>): void => {
  if (status === 'absent') throw new Refusal('not_found', 'There is no such credential request');
};

/** Does nothing if this request already exists. */
export const request =
  (fields: RequestFields) =>
  ({ status }: CredentialRequest): CredentialRequestEvent[] =>
    status === 'absent' ? [{ type: 'CredentialRequested', data: fields }] : [];

/** @throws Refusal not_found, conflict if it is fulfilled or expired at the time `at` */
export const assertOpen = (credentialRequest: CredentialRequest, at: string): void => {
  assertExists(credentialRequest);
  const { status, expires_at } = credentialRequest;
  if (status === 'fulfilled') throw conflict('/request_id', 'already_fulfilled', 'This credential request is fulfilled already');
  if (expires_at <= at) throw conflict('/request_id', 'expired', `This credential request expired at ${expires_at}`);
};

/** The configuration of the skill now contains the value. Does nothing unless the request is open. */
export const fulfil =
  (config_revision: number) =>
  ({ status, agent_id, skill_id, config_key }: CredentialRequest): CredentialRequestEvent[] =>
    status === 'open' ? [{ type: 'CredentialSubmitted', data: { agent_id, skill_id, config_key, config_revision } }] : [];
