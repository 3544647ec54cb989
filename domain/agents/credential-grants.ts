import type { Recorded } from '../event.ts';
import { type ById, type Transient, withEntry, withoutEntry } from '../immutable-record.ts';

/**
 * `identity_revision`: the identity's `access_revision` when it was given; after it was unlinked and linked again, the agent no longer has
 * it. `label`: the name at that time. `given_by`: null if it was not a person.
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

/** By id of the linked identity. */
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

/** Ids of credentials that the agent does not have are ignored. */
export const takeCredentials = ({ credentials }: AgentCredentials, ids: readonly string[]): AgentCredentialEvent[] =>
  ids.flatMap((identity_id): AgentCredentialEvent[] => {
    const given = credentials[identity_id];
    return given ? [{ type: 'AgentCredentialTaken', data: { identity_id, credential_label: given.label } }] : [];
  });
