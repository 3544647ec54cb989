import type { Recorded } from '../event.ts';
import { Refusal } from '../refusal.ts';
import { inboundSubject } from './cloud-event.ts';
import { scoreSubject } from './score-report.ts';

export const category = 'runnercredential';

/** The name of the JetStream stream that contains the messages to all agents. */
export const STREAM = 'AGENTS';
/**
 * The broker sends a message again if no runner has acknowledged it after this many milliseconds. The time is the same
 * for all attempts: if it differed (`backoff`), nats-server would add it to the delay that a runner asks for.
 */
export const ACK_WAIT_MS = 30_000;
export const MAX_DELIVERY_ATTEMPTS = 10;
export const MAX_LIFETIME_SECONDS = 3_600;
/** The maximum number of messages that all runners of an agent together may have received and not yet acknowledged. */
export const MAX_UNACKNOWLEDGED = 1_000;
/** A runner should get a new credential after this share of the lifetime of its present one. */
export const RENEW_AFTER_SHARE = 0.75;

/** Returns the name of the durable JetStream consumer that all runners of an agent share. */
export const consumerName = (agent: string): string => `runner-${agent}`;

/**
 * Returns the NATS permissions of a runner's credential: to fetch, acknowledge and listen to the messages of its own
 * agent, to publish results of benchmark tasks, and to receive replies in its own inbox.
 */
export const permissionsOf = (tenant: string, agent: string, inbox: string): { publish: string[]; subscribe: string[] } => ({
  publish: [
    `$JS.API.CONSUMER.MSG.NEXT.${STREAM}.${consumerName(agent)}`,
    `$JS.ACK.${STREAM}.${consumerName(agent)}.>`,
    scoreSubject(tenant, agent),
  ],
  subscribe: [`${inbox}.>`, inboundSubject(tenant, agent)],
});

/** Returns the prefix of the NATS inboxes in which a runner with this credential may receive replies. */
export const inboxOf = (credential: string): string => `_INBOX_${credential}`;

/** Returns the time at which a runner should get a new credential, as RFC 3339 UTC. */
export const renewTime = (issued_at: string, expires_at: string): string => {
  const [from, to] = [Date.parse(issued_at), Date.parse(expires_at)];
  return new Date(from + RENEW_AFTER_SHARE * (to - from)).toISOString();
};

type IssuedFields = {
  agent_id: string;
  /**
   * The user who requested the credential, or who owns the API key with which it was requested. If this user is
   * suspended or leaves the tenant, the credential is revoked. Null if the platform requested it; absent in events of
   * earlier versions.
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
 * Issues the credential. Does nothing if it was already issued with this public key.
 * @throws Refusal secret_already_shown if it was issued with another public key: the private seed of that key is not
 * stored, so it cannot be returned again
 */
export const issue =
  (issued: IssuedFields) =>
  ({ status, public_key }: RunnerCredential): RunnerCredentialEvent[] => {
    if (status === 'absent') return [{ type: 'RunnerCredentialIssued', data: issued }];
    if (public_key === issued.public_key) return [];
    throw new Refusal('secret_already_shown', 'This credential was issued before: request a new one');
  };

/** Revokes the credential. @throws Refusal not_found if it does not exist or belongs to another agent */
export const revoke =
  (agent_id: string) =>
  (credential: RunnerCredential): RunnerCredentialEvent[] => {
    if (credential.status === 'absent' || credential.agent_id !== agent_id) throw new Refusal('not_found', 'There is no such credential');
    return credential.status === 'revoked' ? [] : [{ type: 'RunnerCredentialRevoked', data: {} }];
  };
