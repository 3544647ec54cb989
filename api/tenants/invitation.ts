import type { Context } from 'hono';
import { z } from 'zod';
import {
  ACCEPT_PATH,
  acceptInvitation,
  findInvitee,
  INVITATION_PAGE,
  InvitationAccept,
  issueInvitation,
  PREVIEW_PATH,
  previewInvitation,
} from '../../commands/tenants/invitation.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { INVITATION_LIFETIME_HOURS } from '../../domain/tenants/invitation.ts';
import { TENANT_ROLES } from '../../domain/tenants/tenant-role.ts';
import { ApiKeyCreated } from '../../projections/identity/api-key.ts';
import { requestInfoOf } from '../http/authorize-request.ts';
import { jsonContentOf, requestContentOf } from '../http/example.ts';
import { readJsonBody } from '../http/json-body.ts';
import { assertNoQuery, runOnce } from '../http/mount.ts';
import { operation } from '../http/operation.ts';
import { PLAIN_SCHEMAS, plainRoute, plainRoutes } from '../http/plain-route.ts';
import type { Runtime } from '../http/runtime.ts';
import { parseOrRefuse } from '../http/validation.ts';

const InvitationRead = z
  .object({
    user_id: idOf('user'),
    tenant_id: idOf('tenant'),
    link: z.string().meta({
      description: 'The page on which the invited member joins in a browser. It contains the token: shown only once',
      examples: ['https://annals.example.com/console/invitation#inv_…'],
    }),
    url: z.string().meta({
      description: 'The URL to which the invited member posts the token',
      examples: ['https://annals.example.com/invitations/accept'],
    }),
    token: z.string().meta({
      description: 'Shown only once. Send it to the invited member only: anyone who has it can act as this member',
      examples: ['inv_cujzde8gxd6ncf10epf91dhod_c1u33xtplpft75v2seh60kvj5_0h2jQ7mN4pR8sW1yZ5cF6gL3dX9kB2vMn4RtYu'],
    }),
    expires_at: Timestamp.meta({ description: 'When the token stops working' }),
  })
  .meta({ id: 'InvitationRead' });

const InvitationToken = InvitationAccept.pick({ token: true });

const InvitationPreview = z
  .object({
    tenant_id: idOf('tenant'),
    tenant_name: z.string().meta({ description: 'The name of the tenant', examples: ['Northwind Commerce'] }),
    user_id: idOf('user').meta({ description: 'The invited member' }),
    email: z.string().meta({ description: 'The e-mail address of the invited member', examples: ['ada@example.com'] }),
    role: z.enum(TENANT_ROLES).meta({ description: 'The role of the invited member in the tenant' }),
    invited_by: z.string().meta({ description: 'The name of the member who invited, or the e-mail address', examples: ['Olivia Hart'] }),
    expires_at: Timestamp.meta({ description: 'When the token stops working' }),
  })
  .meta({ id: 'InvitationPreview' });

export const invitationOperations = {
  issueInvitation: operation({
    method: 'post',
    path: '/tenant/:tenant_id/members/:user_id/invitation',
    summary: 'Invite a member to get an API key',
    details: 'Only this response shows the token.',
    permit: 'tenant:members:write',
    permissionNote: `Requires the permission \`tenant:members:write\`; for an OWNER, the role OWNER. The token is valid once and for ${INVITATION_LIFETIME_HOURS} hours. It replaces an earlier one of this member, and becomes invalid if the member leaves the tenant or becomes OWNER, or if the caller loses this permission.`,
    reply: InvitationRead,
    status: 201,
    oneTimeSecret: true,
    run: issueInvitation,
  }),
};

export type InvitationDeps = {
  /**
   * Runs the check of an invitation token. A wrong token counts against the rate limit of the client's IP address, as
   * an invalid credential does.
   * @throws Refusal rate_limited
   */
  readonly attempt: <T>(c: Context, work: () => Promise<T>) => Promise<T>;
};

type Deps = InvitationDeps & { readonly runtime: Runtime };

const nobody = { kind: 'system', name: 'invitation' } as const;

/**
 * The command and the response of accepting an invitation. The route is in no table of operations, because its
 * credential, the token, is in the body.
 */
const ACCEPT = {
  method: 'post',
  reply: ApiKeyCreated,
  status: 201,
  oneTimeSecret: true,
  location: '/tenant/:tenant_id/api-keys/:id',
} as const;

const accept =
  ({ runtime, attempt }: Deps) =>
  async (c: Context): Promise<Response> => {
    assertNoQuery(c);
    const { value, bytes } = await readJsonBody(c.req.raw, () => true);
    const input = parseOrRefuse(InvitationAccept, value);
    const { tenant_id, user_id } = await attempt(c, () => findInvitee(runtime.context(requestInfoOf(c, runtime, nobody)), input.token));
    const member = { kind: 'user', user_id, key_id: null, bound_to: tenant_id, super_admin: false } as const;
    const request = { c, info: requestInfoOf(c, runtime, member, tenant_id), params: { tenant_id }, id: undefined };
    return attempt(c, () => runOnce(ACCEPT, runtime, request, { bytes, run: (ctx) => acceptInvitation(ctx, user_id, input) }));
  };

const preview =
  ({ runtime, attempt }: Deps) =>
  async (c: Context): Promise<Response> => {
    assertNoQuery(c);
    const { value } = await readJsonBody(c.req.raw, () => true);
    const { token } = parseOrRefuse(InvitationToken, value);
    return c.json(await attempt(c, () => previewInvitation(runtime.context(requestInfoOf(c, runtime, nobody)), token)));
  };

export const invitationRoutes = plainRoutes([
  plainRoute({
    method: 'get',
    path: ACCEPT_PATH,
    operationId: 'openInvitation',
    summary: 'Open an invitation in a browser',
    description: 'Leads to the page of the console that shows invitations. Browsers keep the fragment of the URL, which has the token.',
    tag: 'Tenants',
    security: [],
    responses: { 303: { description: 'Redirect to the page', headers: { Location: { schema: { type: 'string' } } } } },
    handler: () => (c: Context) => c.body(null, 303, { location: INVITATION_PAGE }),
  }),
  plainRoute({
    method: 'post',
    path: PREVIEW_PATH,
    operationId: 'previewInvitation',
    body: InvitationToken,
    reply: InvitationPreview,
    summary: 'Show an invitation',
    description: 'Says who invites whom to which tenant. The invitation stays unused. Requires no credential but the token in the body.',
    tag: 'Tenants',
    security: [],
    requestBody: { required: true, content: requestContentOf(InvitationToken) },
    responses: {
      200: { description: 'The invitation can be accepted', content: jsonContentOf(InvitationPreview, 'output', PLAIN_SCHEMAS) },
    },
    problems: [400, 401, 403, 408, 413, 415, 422, 429, 503],
    handler: preview,
  }),
  plainRoute({
    method: 'post',
    path: ACCEPT_PATH,
    operationId: 'acceptInvitation',
    body: InvitationAccept,
    reply: ApiKeyCreated,
    summary: 'Accept an invitation',
    description:
      'Creates an API key of the invited member; only this response shows its text. Requires no credential but the token in the body, which is valid once.',
    tag: 'Tenants',
    security: [],
    parameters: [{ $ref: '#/components/parameters/IdempotencyKey' }],
    requestBody: {
      required: true,
      content: requestContentOf(InvitationAccept),
    },
    responses: {
      201: {
        description: 'The API key acts as the invited member in this tenant',
        headers: { Location: { schema: { type: 'string' } } },
        content: jsonContentOf(ApiKeyCreated, 'output', {}),
      },
    },
    problems: [400, 401, 403, 404, 408, 409, 412, 413, 415, 422, 429, 503],
    handler: accept,
  }),
]);
