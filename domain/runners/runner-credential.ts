import type { Recorded } from '../event.ts';
import { Refusal } from '../refusal.ts';
import { inboundSubject } from './cloud-event.ts';
import { scoreSubject } from './score-report.ts';

export const category = 'runnercredential';

/** The JetStream stream with the messages to all agents. */
export const STREAM = 'AGENTS';
/**
 * The broker sends an unacknowledged message again after this time. The same for all attempts: nats-server would add different ones
 * (`backoff`) to the delay that a runner requests.
 */
export const ACK_WAIT_MS = 30_000;
export const MAX_DELIVERY_ATTEMPTS = 10;
export const MAX_LIFETIME_SECONDS = 3_600;
/** For all runners of an agent together. */
export const MAX_UNACKNOWLEDGED = 1_000;
/** The share of a credential's lifetime after which it is renewed. */
export const RENEW_AFTER_SHARE = 0.75;

/** The durable JetStream consumer that all runners of an agent share. */
export const consumerName = (agent: string): string => `runner-${agent}`;

/** NATS permissions: fetch, acknowledge and listen to the agent's own messages, publish benchmark results, receive replies in its own inbox. */
export const permissionsOf = (tenant: string, agent: string, inbox: string): { publish: string[]; subscribe: string[] } => ({
  publish: [
    `$JS.API.CONSUMER.MSG.NEXT.${STREAM}.${consumerName(agent)}`,
    `$JS.ACK.${STREAM}.${consumerName(agent)}.>`,
    scoreSubject(tenant, agent),
  ],
  subscribe: [`${inbox}.>`, inboundSubject(tenant, agent)],
});

/** The NATS prefix for replies to a runner with this credential. */
export const inboxOf = (credential: string): string => `_INBOX_${credential}`;

/** RFC 3339 UTC. */
export const renewTime = (issued_at: string, expires_at: string): string => {
  const [from, to] = [Date.parse(issued_at), Date.parse(expires_at)];
  return new Date(from + RENEW_AFTER_SHARE * (to - from)).toISOString();
};

type IssuedFields = {
  agent_id: string;
  /**
   * The user who requested the credential, or who owns the API key of the request. If suspended or no longer a member, the credential is
   * revoked. Null: the platform; absent in events of earlier versions.
   */
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

/**
 * Does nothing if it was issued with this public key.
 * @throws Refusal secret_already_shown if it was issued with another one, whose private seed is not stored
 */
export const issue =
  (issued: IssuedFields) =>
  ({ status, public_key }: RunnerCredential): RunnerCredentialEvent[] => {
    if (status === 'absent') return [{ type: 'RunnerCredentialIssued', data: issued }];
    if (public_key === issued.public_key) return [];
    throw new Refusal('secret_already_shown', 'This credential was issued before: request a new one');
  };

/** @throws Refusal not_found if it does not exist or belongs to another agent */
export const revoke =
  (agent_id: string) =>
  (credential: RunnerCredential): RunnerCredentialEvent[] => {
    if (credential.status === 'absent' || credential.agent_id !== agent_id) throw new Refusal('not_found', 'There is no such credential');
    return credential.status === 'revoked' ? [] : [{ type: 'RunnerCredentialRevoked', data: {} }];
  };
