import { isSameDigest } from '../digest.ts';
import type { Recorded } from '../event.ts';
import { Refusal } from '../refusal.ts';

/**
 * One attempt to connect an account by OAuth, from the URL at the provider to the redirect back. That redirect names no tenant: attempts
 * belong to the platform, and their events name the tenant.
 */
export const category = 'identitylink';
export const platform = true;

/** An attempt expires if the browser has not been redirected back by then. */
export const LINK_LIFETIME_SECONDS = 600;

/**
 * Secrets are stored as digests: `state_digest` of the parameter `state`, `browser_digest` of a cookie of the browser that started the
 * attempt. `sealed_verifier`: the encrypted PKCE code verifier.
 */
export type LinkFields = {
  readonly tenant_id: string;
  readonly agent_id: string | null;
  readonly provider: string;
  readonly state_digest: string;
  readonly browser_digest: string;
  readonly sealed_verifier: string;
  readonly expires_at: string;
};

export type IdentityLinkEvent =
  | { type: 'IdentityLinkStarted'; data: LinkFields }
  | { type: 'IdentityLinkAnswered'; data: Pick<LinkFields, 'agent_id' | 'provider'> };

export type IdentityLink = LinkFields & {
  readonly status: 'absent' | 'started' | 'answered';
  readonly id: string;
  /** Null if the caller was not a user. */
  readonly user_id: string | null;
};

export const initial: IdentityLink = {
  status: 'absent',
  id: '',
  user_id: null,
  tenant_id: '',
  agent_id: null,
  provider: '',
  state_digest: '',
  browser_digest: '',
  sealed_verifier: '',
  expires_at: '',
};

export const evolve = (link: IdentityLink, { id, actor, type, data }: Recorded<IdentityLinkEvent>): IdentityLink => {
  switch (type) {
    case 'IdentityLinkStarted':
      return { ...data, status: 'started', id, user_id: actor.kind === 'user' ? actor.id : null };
    case 'IdentityLinkAnswered':
      return { ...link, status: 'answered' };
  }
};

/** Does nothing if this attempt exists. */
export const start =
  (fields: LinkFields) =>
  ({ status }: IdentityLink): IdentityLinkEvent[] =>
    status === 'absent' ? [{ type: 'IdentityLinkStarted', data: fields }] : [];

const notStarted = (): Refusal =>
  new Refusal('unauthorized', 'This browser has not started to connect an account, or it took too long: start again');

/** @throws Refusal unauthorized if another browser started the attempt, or if it has ended or expired */
export const assertStarted = (link: IdentityLink, state_digest: string, browser_digest: string, at: string): void => {
  if (link.status !== 'started' || link.expires_at <= at) throw notStarted();
  if (!isSameDigest(link.state_digest, state_digest) || !isSameDigest(link.browser_digest, browser_digest)) throw notStarted();
};

/** Ends the wait for the redirect, so `state` cannot be used a second time. @throws Refusal unauthorized as `assertStarted` */
export const answer =
  (state_digest: string, browser_digest: string, at: string) =>
  (link: IdentityLink): IdentityLinkEvent[] => {
    assertStarted(link, state_digest, browser_digest, at);
    return [{ type: 'IdentityLinkAnswered', data: { agent_id: link.agent_id, provider: link.provider } }];
  };
