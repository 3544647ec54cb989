import { isSameDigest } from '../digest.ts';
import type { Recorded } from '../event.ts';
import { Refusal } from '../refusal.ts';

/**
 * One attempt to connect an account by OAuth: from the URL of the provider that a caller gets until the provider sends
 * the browser back. The callback's URL contains no tenant, so the stream belongs to the platform and names its tenant.
 */
export const category = 'identitylink';
export const platform = true;

/** How long a browser may take until it is back. */
export const LINK_LIFETIME_SECONDS = 600;

/**
 * Digests stand for the secrets of the attempt: `state_digest` for the parameter `state`, `browser_digest` for the
 * cookie of the browser that started it. `sealed_verifier` is the PKCE code verifier.
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
  /** The user who started the attempt; null if another caller did. */
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

/** Starts an attempt. */
export const start =
  (fields: LinkFields) =>
  ({ status }: IdentityLink): IdentityLinkEvent[] =>
    status === 'absent' ? [{ type: 'IdentityLinkStarted', data: fields }] : [];

const notStarted = (): Refusal =>
  new Refusal('unauthorized', 'This browser has not started to connect an account, or it took too long: start again');

/** Checks that this browser has started the attempt, and may finish it now. @throws Refusal unauthorized */
export const assertStarted = (link: IdentityLink, state_digest: string, browser_digest: string, at: string): void => {
  if (link.status !== 'started' || link.expires_at <= at) throw notStarted();
  if (!isSameDigest(link.state_digest, state_digest) || !isSameDigest(link.browser_digest, browser_digest)) throw notStarted();
};

/** Records that the browser is back. From then on, the state of the attempt is used up. @throws Refusal unauthorized */
export const answer =
  (state_digest: string, browser_digest: string, at: string) =>
  (link: IdentityLink): IdentityLinkEvent[] => {
    assertStarted(link, state_digest, browser_digest, at);
    return [{ type: 'IdentityLinkAnswered', data: { agent_id: link.agent_id, provider: link.provider } }];
  };
