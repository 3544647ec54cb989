import type { Context } from 'hono';
import { z } from 'zod';
import type { Authenticator } from '../../commands/identity/authenticate.ts';
import { assertMaySignIn, type SignInBy, signIn } from '../../commands/identity/sign-in.ts';
import { spendSignInLink } from '../../commands/identity/sign-in-link.ts';
import { PLATFORM } from '../../domain/event.ts';
import * as User from '../../domain/identity/user.ts';
import { omit } from '../../domain/omit.ts';
import type { Principal } from '../../domain/principal.ts';
import { requestInfoOf } from '../http/authorize-request.ts';
import { readJsonBody } from '../http/json-body.ts';
import { assertNoQuery } from '../http/mount.ts';
import { plainRoute, plainRoutes } from '../http/plain-route.ts';
import { MAX_SMALL_FORM_BYTES, readSmallForm } from '../http/read-form.ts';
import type { Runtime } from '../http/runtime.ts';
import { parseOrRefuse } from '../http/validation.ts';
import { returnPathOf, type SignInDeps, signInPrincipal } from './sign-in.ts';
import { assertOwnPage } from './sign-in-cookies.ts';

export type DirectSignInDeps = SignInDeps & Pick<Authenticator, 'byKey'>;

type Deps = DirectSignInDeps & { readonly runtime: Runtime };

const FORM = 'application/x-www-form-urlencoded';

const ReturnTo = z.string().max(1_024).optional().meta({ description: 'The path that a form opens after the sign-in; default: /console' });
const LinkBody = z.strictObject({
  code: z.string().min(1).max(200).meta({ description: 'The code in the link' }),
  return_to: ReturnTo,
});
const KeyBody = z.strictObject({
  key: z.string().min(1).max(200).meta({ description: 'The API key of a person; that of a runner is refused' }),
  return_to: ReturnTo,
});

const isForm = (c: Context): boolean => (c.req.header('content-type') ?? '').split(';')[0]!.trim().toLowerCase() === FORM;

const readFields = async <T extends z.ZodType>(c: Context, schema: T): Promise<z.output<T>> =>
  parseOrRefuse(
    schema,
    isForm(c) ? await readSmallForm(c.req.raw) : (await readJsonBody(c.req.raw, () => true, MAX_SMALL_FORM_BYTES)).value,
  );

/**
 * Signs the user in and sets the session cookie. An HTML form is answered with a redirect, any other client with 204.
 */
const startSession = async (c: Context, { runtime, cookies }: Deps, principal: Principal & { kind: 'user' }, how: SignInBy) => {
  const ctx = runtime.context(requestInfoOf(c, runtime, principal));
  cookies.setSession(c, (await signIn(ctx, principal.user_id, how)).state.cookie);
};

const respond = (c: Context, location: string): Response => (isForm(c) ? c.body(null, 303, { location }) : c.body(null, 204));

const signInByLink =
  (deps: Deps) =>
  async (c: Context): Promise<Response> => {
    const { runtime, cookies, attempt, isMember } = deps;
    assertNoQuery(c);
    assertOwnPage(c, cookies);
    const { code, return_to } = await readFields(c, LinkBody);
    const location = returnPathOf(cookies.origin, return_to, '/return_to');
    const ctx = runtime.context(requestInfoOf(c, runtime, signInPrincipal));
    const { id, state: link } = await attempt(c, () => spendSignInLink(ctx, code, runtime.address(c)));
    const { state: user } = await ctx.load(User, link.user_id, { tenant: PLATFORM });
    await assertMaySignIn(ctx, user, isMember);
    await startSession(c, deps, User.principalOf(user), { by: 'link', state: `link ${id}` });
    return respond(c, location);
  };

const signInByKey =
  (deps: Deps) =>
  async (c: Context): Promise<Response> => {
    const { cookies, attempt, byKey, runtime } = deps;
    assertNoQuery(c);
    assertOwnPage(c, cookies);
    const { key: text, return_to } = await readFields(c, KeyBody);
    const location = returnPathOf(cookies.origin, return_to, '/return_to');
    const { key, principal } = await attempt(c, () => byKey(text.trim()));
    const state = `key ${runtime.context(requestInfoOf(c, runtime, principal)).newId()}`;
    await startSession(c, deps, principal, { by: 'key', state, key });
    return respond(c, location);
  };

const bodyOf = (schema: object, example: object) => ({
  required: true,
  content: { 'application/json': { schema, example }, [FORM]: { schema, example } },
});

const signedIn = {
  204: { description: 'Signed in: the response sets the session cookie' },
  303: { description: 'The same, for a form: redirect to `return_to`', headers: { Location: { schema: { type: 'string' } } } },
};

const schemaOf = (schema: z.ZodType): object => {
  const json = omit(z.toJSONSchema(schema, { io: 'input' }) as Record<string, unknown>, '$schema', 'id');
  return json;
};

/** The routes with which a browser signs in without an external issuer of identities. */
export const directSignIn = plainRoutes([
  plainRoute({
    method: 'post',
    path: '/auth/link',
    operationId: 'signInByLink',
    body: LinkBody,
    reply: z.null(),
    summary: 'Sign a browser in by a one-time link',
    description: 'Spends the link, which `annals login` prints. Accepted only from pages of this host.',
    tag: 'Sign-in',
    security: [],
    requestBody: bodyOf(schemaOf(LinkBody), { code: 'V5pW9n2q8Yt4Rk7sLx3mZc6bHd1fGj0aQeUiOyTrEwS' }),
    responses: signedIn,
    problems: [401, 403, 408, 413, 415, 422, 429, 503],
    handler: signInByLink,
  }),
  plainRoute({
    method: 'post',
    path: '/auth/key',
    operationId: 'signInByKey',
    body: KeyBody,
    reply: z.null(),
    summary: 'Sign a browser in by an API key',
    description:
      'The session has the limits of the key and ends with it. The keys of runners are refused. Accepted only from pages of this host.',
    tag: 'Sign-in',
    security: [],
    requestBody: bodyOf(schemaOf(KeyBody), { key: 'ann_3kTz81Qa_…' }),
    responses: signedIn,
    problems: [401, 403, 408, 413, 415, 422, 429, 503],
    handler: signInByKey,
  }),
]);
