import { conflict } from '../refusal.ts';
import { type Agent, type AgentEvent, assertExists } from './agent.ts';
import { takeCredentials } from './credential-grants.ts';

export const MAX_AGENT_CREDENTIALS = 100;

type Gift = { readonly identity_id: string; readonly credential_label: string; readonly identity_revision: number };

export const isFull = ({ credentials }: Agent): boolean => Object.keys(credentials).length >= MAX_AGENT_CREDENTIALS;

/**
 * Does nothing if the agent already has the credential from this link or a later one. At the maximum number, drops credentials in
 * `unlinked` (no longer linked), except those that were given again.
 * @throws Refusal not_found, conflict if it would have too many credentials
 */
export const giveCredential =
  (gift: Gift, unlinked: Agent['credentials'] = {}) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    const present = agent.credentials[gift.identity_id];
    if (present && present.identity_revision >= gift.identity_revision) return [];
    const stale = Object.keys(unlinked).filter((id) => agent.credentials[id]?.identity_revision === unlinked[id]!.identity_revision);
    const superseded = !present && isFull(agent) ? takeCredentials(agent, stale) : [];
    if (!present && Object.keys(agent.credentials).length - superseded.length >= MAX_AGENT_CREDENTIALS)
      throw conflict(
        '/path/agent_id',
        'too_many_credentials',
        `The agent already has ${MAX_AGENT_CREDENTIALS} credentials: take one away first`,
      );
    return [...superseded, { type: 'AgentCredentialGiven', data: gift }];
  };

/** Does nothing if the agent does not have the credential. @throws Refusal not_found if the agent does not exist */
export const takeCredential =
  (identity_id: string) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    return takeCredentials(agent, [identity_id]);
  };
