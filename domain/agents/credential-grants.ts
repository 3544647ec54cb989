import type { Recorded } from '../event.ts';
import { type ById, type Transient, withEntry, withoutEntry } from '../immutable-record.ts';

/**
 * A linked identity of the tenant that a person has given to an agent. `identity_revision` is the identity's
 * `access_revision` at that time: after the identity was unlinked and linked again, the agent no longer has it. `label`
 * is the name at that time. `given_by` is the user who gave it; null if it was not a person.
 */
export type GivenCredential = {
  readonly label: string;
  readonly identity_revision: number;
  readonly given_at: string;
  readonly given_by: string | null;
};

export type AgentCredentialEvent =
  | { type: 'AgentCredentialGiven'; data: { identity_id: string; credential_label: string; identity_revision: number } }
  | { type: 'AgentCredentialTaken'; data: { identity_id: string; credential_label: string } };

/** The credentials of the tenant that an agent has: ids of linked identities mapped to what was given. */
export type AgentCredentials = { readonly credentials: ById<GivenCredential> };

export const noCredentials: AgentCredentials = { credentials: {} };

export const applyCredentialEvent = (
  { credentials }: AgentCredentials,
  { type, data, at, actor }: Recorded<AgentCredentialEvent>,
  transient?: Transient,
): AgentCredentials => {
  if (type === 'AgentCredentialTaken') return { credentials: withoutEntry(credentials, data.identity_id, transient) };
  const { identity_id, credential_label: label, identity_revision } = data;
  const given = { label, identity_revision, given_at: at, given_by: actor.kind === 'user' ? actor.id : null };
  return { credentials: withEntry(credentials, identity_id, given, transient) };
};

/** Takes these credentials from an agent. Ids of credentials that it does not have are ignored. */
export const takeCredentials = ({ credentials }: AgentCredentials, ids: readonly string[]): AgentCredentialEvent[] =>
  ids.flatMap((identity_id): AgentCredentialEvent[] => {
    const given = credentials[identity_id];
    return given ? [{ type: 'AgentCredentialTaken', data: { identity_id, credential_label: given.label } }] : [];
  });
