import * as IdentityLink from '../../domain/credentials/identity-link.ts';
import { secret } from '../../domain/secret.ts';
import { loadAgent } from '../agents/agent.ts';
import type { Ctx, Loaded, SecretLocation } from '../context.ts';
import type { OAuthClients } from './oauth-clients.ts';

const STATE_LENGTH = 32;
const BROWSER_LENGTH = 43;
const VERIFIER_LENGTH = 64;

/** The location of the encrypted PKCE code verifier. */
export const verifierLocation = (tenant: string, id: string): SecretLocation => ({
  tenant,
  category: IdentityLink.category,
  id,
  field: 'verifier',
});

/** The OAuth parameter: the id of the attempt, and a secret. */
export const stateOf = (id: string, random: string): string => `${id}.${random}`;

/** The URL at the provider, and the cookie value (`browser`) that binds the attempt to the browser. */
export type StartedLink = { readonly id: string; readonly url: string; readonly browser: string };

/** Connects for the tenant or one agent. @throws Refusal not_found if the agent or the provider does not exist, not_configured */
export const connectProvider =
  (oauth: OAuthClients) =>
  async (
    ctx: Ctx,
    { tenant_id, provider, agent_id = null }: { readonly tenant_id: string; readonly provider: string; readonly agent_id?: string | null },
  ): Promise<Loaded<StartedLink>> => {
    if (agent_id !== null) await loadAgent(ctx, agent_id);
    oauth.assertConfigured(provider);
    const id = ctx.newId();
    const [state, browser, verifier] = [
      stateOf(id, ctx.secrets.random(STATE_LENGTH)),
      ctx.secrets.random(BROWSER_LENGTH),
      ctx.secrets.random(VERIFIER_LENGTH),
    ];
    const expires_at = new Date(Date.parse(ctx.at()) + IdentityLink.LINK_LIFETIME_SECONDS * 1_000).toISOString();
    const fields = {
      ...{ tenant_id, agent_id, provider, expires_at },
      state_digest: ctx.secrets.digest(state),
      browser_digest: ctx.secrets.digest(browser),
      sealed_verifier: await ctx.secrets.seal(verifierLocation(tenant_id, id), secret(verifier)),
    };
    const url = await oauth.authorizationUrl({ provider, state, verifier });
    return { ...(await ctx.transact(IdentityLink, id, IdentityLink.start(fields), { expectNew: true })), state: { id, url, browser } };
  };
