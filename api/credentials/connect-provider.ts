import { serialize } from 'hono/utils/cookie';
import { z } from 'zod';
import { connectProvider, type StartedLink } from '../../commands/credentials/connect-provider.ts';
import type { OAuthClients } from '../../commands/credentials/oauth-clients.ts';
import { LINK_LIFETIME_SECONDS } from '../../domain/credentials/identity-link.ts';
import { LINK } from '../http/attempt-cookies.ts';
import { operation } from '../http/operation.ts';

const url = z.string().meta({
  description: 'The page of the provider that the browser is to open. It is valid for 10 minutes, in this browser only',
  examples: ['https://github.com/login/oauth/authorize?client_id=…&state=…&code_challenge=…'],
});

const ConnectIntegrationResponse = z.object({ url }).meta({ id: 'ConnectIntegrationResponse' });
const ConnectAgentIntegrationResponse = z.object({ url }).meta({ id: 'ConnectAgentIntegrationResponse' });

/**
 * Returns the name of the cookie that ties an attempt to connect an account to the browser that started it. The name
 * contains the start of the attempt's id, because several tabs can connect accounts at the same time.
 */
export const linkCookieName = (id: string, isSecure: boolean): string => `${isSecure ? '__Host-' : ''}${LINK}${id.slice(0, 9)}`;

/**
 * Returns the Set-Cookie header that binds an attempt to connect an account to this browser. The browser sends the
 * cookie when the provider redirects it back.
 */
const linkCookie = (publicUrl: string, { id, browser }: StartedLink): string => {
  const secure = publicUrl.startsWith('https:');
  const options = { path: '/', httpOnly: true, sameSite: 'Lax', secure, maxAge: LINK_LIFETIME_SECONDS } as const;
  return serialize(linkCookieName(id, secure), browser, options);
};

const DETAILS =
  'The response sets a cookie. Only a browser that has it can finish: the provider sends it back to `/integrations/callback`.';

export const connectOperations = (oauth: OAuthClients, publicUrl: string) => {
  const start = connectProvider(oauth);
  const shared = {
    method: 'post',
    noETag: true,
    headers: (state: unknown) => ({ 'set-cookie': linkCookie(publicUrl, state as StartedLink) }),
  } as const;
  return {
    connectIntegration: operation({
      ...shared,
      path: '/tenant/:tenant_id/integrations/:provider/connect',
      summary: 'Connect an account at a provider',
      details: `The account belongs to the tenant. ${DETAILS}`,
      permit: 'tenant:credentials:write',
      reply: ConnectIntegrationResponse,
      run: start,
    }),
    connectAgentIntegration: operation({
      ...shared,
      path: '/tenant/:tenant_id/agents/:agent_id/integrations/:provider/connect',
      summary: 'Connect an account of an agent at a provider',
      details: `The runner of the agent gets its access token. The agent also gets a webhook integration of the provider. ${DETAILS}`,
      permit: 'agent:settings:write',
      reply: ConnectAgentIntegrationResponse,
      run: start,
    }),
  };
};
