import type { Recorded } from '../event.ts';
import { Refusal } from '../refusal.ts';

export const category = 'runnercredential';

export const STREAM = 'AGENTS';
/** A message that its runner says nothing about for so long is handed out again. */
export const ACK_WAIT_MS = 30_000;
export const MAX_DELIVERY_ATTEMPTS = 10;
export const MAX_LIFETIME_SECONDS = 3_600;

/** The durable consumer that all runners of an agent share. */
export const consumerName = (agent: string): string => `runner-${agent}`;

/** What a runner's credential opens on the broker: pulling its agent's messages, settling them, and its own inbox. */
export const permissionsOf = (agent: string, inbox: string): { publish: string[]; subscribe: string[] } => ({
  publish: [`$JS.API.CONSUMER.MSG.NEXT.${STREAM}.${consumerName(agent)}`, `$JS.ACK.${STREAM}.${consumerName(agent)}.>`],
  subscribe: [`${inbox}.>`],
});

/** The prefix of the inboxes that a credential may listen on. */
export const inboxOf = (credential: string): string => `_INBOX_${credential}`;

type IssuedFields = {
  agent_id: string;
  /** Who asked for it, or made the key that did: it ends with their rights. Absent in events of before; null: the platform itself. */
  owner_id?: string | null;
  public_key: string;
  subject: string;
  stream: string;
  consumer: string;
  expires_at: string;
};

export type RunnerCredentialEvent =
  | { type: 'RunnerCredentialIssued'; data: IssuedFields }
  | { type: 'RunnerCredentialRevoked'; data: object };

export type RunnerCredential = IssuedFields & {
  status: 'absent' | 'issued' | 'revoked';
  id: string;
  created_at: string;
  revoked_at: string | null;
};

export const initial: RunnerCredential = {
  status: 'absent',
  id: '',
  agent_id: '',
  public_key: '',
  subject: '',
  stream: '',
  consumer: '',
  expires_at: '',
  created_at: '',
  revoked_at: null,
};

export const evolve = (credential: RunnerCredential, event: Recorded<RunnerCredentialEvent>): RunnerCredential => {
  switch (event.type) {
    case 'RunnerCredentialIssued':
      return { ...credential, ...event.data, status: 'issued', id: event.id, created_at: event.at };
    case 'RunnerCredentialRevoked':
      return { ...credential, status: 'revoked', revoked_at: event.at };
  }
};

/** @throws Refusal secret_already_shown where the credential was issued with another key, which nobody has any more */
export const issue =
  (issued: IssuedFields) =>
  ({ status, public_key }: RunnerCredential): RunnerCredentialEvent[] => {
    if (status === 'absent') return [{ type: 'RunnerCredentialIssued', data: issued }];
    if (public_key === issued.public_key) return [];
    throw new Refusal('secret_already_shown', 'this credential was issued before; ask for a new one');
  };

/** @throws Refusal not_found where the credential is another agent's */
export const revoke =
  (agent_id: string) =>
  (credential: RunnerCredential): RunnerCredentialEvent[] => {
    if (credential.status === 'absent' || credential.agent_id !== agent_id) throw new Refusal('not_found', 'there is no such credential');
    return credential.status === 'revoked' ? [] : [{ type: 'RunnerCredentialRevoked', data: {} }];
  };
