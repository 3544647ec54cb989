import type { Context } from 'hono';
import { deleteCookie, getCookie } from 'hono/cookie';
import { z } from 'zod';
import { type Callback, finishLink, linkIdOf, loadStartedLink } from '../../commands/credentials/finish-link.ts';
import type { OAuthClients } from '../../commands/credentials/oauth-clients.ts';
import { tokenOf } from '../../domain/event.ts';
import { principalOf } from '../../domain/identity/user.ts';
import { LinkedIdentityRead } from '../../projections/credentials/linked-identity.ts';
import { activeProvidersOf } from '../../projections/integrations/integration.queries.ts';
import { requestInfoOf } from '../http/authorize-request.ts';
import { jsonContentOf } from '../http/example.ts';
import { PLAIN_SCHEMAS, plainRoute, plainRoutes } from '../http/plain-route.ts';
import { jsonResponse } from '../http/response.ts';
import type { Runtime } from '../http/runtime.ts';
import { ignoreUnavailable } from '../http/stale-if-error.ts';
import { linkCookieName } from './connect-provider.ts';

const CallbackResponse = z
  .object({ linked_identity: LinkedIdentityRead.meta({ description: 'The account that is connected now' }) })
  .meta({ id: 'CallbackResponse' });

export type CallbackDeps = {
  readonly oauth: OAuthClients;
  readonly publicUrl: string;
  /**
   * Runs an attempt to connect an account. If the attempt fails, it counts against the rate limit of the client's IP
   * address, as a request with invalid credentials does.
   * @throws Refusal rate_limited
   */
  readonly attempt: <T>(c: Context, work: () => Promise<T>) => Promise<T>;
};

type Deps = CallbackDeps & { readonly runtime: Runtime };

const callbackPrincipal = { kind: 'system', name: 'oauth-callback' } as const;

/** Reads the parameters and the cookie of a callback, and deletes the cookie, because an attempt needs it only once. */
const callbackOf = (c: Context, publicUrl: string): Callback => {
  const state = c.req.query('state') ?? '';
  const secure = publicUrl.startsWith('https:');
  const name = linkCookieName(linkIdOf(state) ?? 'none', secure);
  const browser = getCookie(c, name) ?? '';
  if (browser !== '') deleteCookie(c, name, { path: '/', httpOnly: true, sameSite: 'Lax', secure });
  return { state, browser, query: new URL(c.req.url).search };
};

const finish = async (c: Context, { runtime, oauth }: Deps, callback: Callback) => {
  const { link, user } = await loadStartedLink(runtime.context(requestInfoOf(c, runtime, callbackPrincipal)), callback);
  const ctx = runtime.context(requestInfoOf(c, runtime, principalOf(user), link.tenant_id));
  const has = async (agent_id: string, provider: string): Promise<boolean> =>
    (await activeProvidersOf(ctx.reads, ctx.tenant, agent_id).catch(ignoreUnavailable))?.has(provider) ?? false;
  return finishLink(ctx, link, { oauth, has, callback });
};

const finishConnecting =
  (deps: Deps) =>
  async (c: Context): Promise<Response> => {
    const callback = callbackOf(c, deps.publicUrl);
    const { state, position } = await deps.attempt(c, () => finish(c, deps, callback));
    const body = JSON.stringify(CallbackResponse.parse({ linked_identity: state }));
    const response = jsonResponse(body, 200, position ? { 'consistency-token': tokenOf(position) } : {});
    for (const cookie of c.res.headers.getSetCookie()) response.headers.append('set-cookie', cookie);
    return response;
  };

const parameter = (description: string) => z.string().meta({ description });

export const oauthCallback = plainRoutes([
  plainRoute({
    method: 'get',
    path: '/integrations/callback',
    operationId: 'finishConnectIntegration',
    reply: CallbackResponse,
    summary: 'Finish connecting an account',
    description:
      'The provider redirects the browser to this path. Only the browser that has started can finish, once, and within 10 minutes.',
    tag: 'Credentials',
    security: [],
    query: z.object({
      state: parameter('The state that the URL of the provider contained'),
      code: parameter("The provider's authorization code").optional(),
    }),
    responses: { 200: { description: 'The account is connected', content: jsonContentOf(CallbackResponse, 'output', PLAIN_SCHEMAS) } },
    problems: [401, 403, 404, 409, 429, 502, 503],
    handler: finishConnecting,
  }),
]);
