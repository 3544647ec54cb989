import { z } from 'zod';
import {
  changeMemberRole,
  inviteMember,
  MemberInvite,
  MemberUpdate,
  type MemberView,
  memberView,
  removeMember,
} from '../../commands/tenants/member.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { invalid } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { TENANT_ROLES, type TenantRole } from '../../domain/tenants/tenant-role.ts';
import { agents } from '../../projections/agents/agent.ts';
import { agentsOwnedBy } from '../../projections/agents/agent-access.queries.ts';
import { inBatches } from '../http/in-batches.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { AsOf, listQuery, type PageWindow, paginate } from '../http/paging.ts';
import { MemberIds } from './member-activity.ts';

export { TENANT_ROLES };

const MEMBERS = '/tenant/:tenant_id/members';
const MEMBER = `${MEMBERS}/:user_id`;
const permit = 'tenant:members:write';
const permissionNote = 'Requires the permission `tenant:members:write`; changes of OWNERs require the role OWNER.';

export const MemberRead = z
  .object({
    user_id: idOf('user'),
    email: z.string().meta({ examples: ['ada@example.com'] }),
    name: z
      .string()
      .nullable()
      .meta({ examples: ['Ada Lovelace'] }),
    role: z.enum(TENANT_ROLES).meta({ description: 'The role in the tenant' }),
    created_at: Timestamp.meta({ description: 'When the user became a member' }),
  })
  .meta({ id: 'MemberRead' });

/** How many streams of users a search reads at the same time. */
const READ_AT_ONCE = 50;

type MemberWindow = PageWindow & {
  readonly q?: string | undefined;
  readonly user_id?: string | undefined;
  readonly role?: TenantRole | undefined;
};

/** Whether the name or the e-mail address of a member contains the text. `text` is in lower case. */
const isNamed = ({ name, email }: MemberView, text: string): boolean => `${name ?? ''}\n${email}`.toLowerCase().includes(text);

const listMembers = async (ctx: Ctx, { q = '', user_id, role, ...window }: MemberWindow) => {
  const tenant = await ctx.load(Tenant, ctx.tenant);
  const viewOf = (id: string) => memberView(ctx, tenant.state, id);
  const all = Object.entries(tenant.state.members).map(([id, member]) => ({ id, ...member }));
  const ids = user_id && new Set(user_id.split(','));
  const ofRole = all.filter((member) => (role === undefined || member.role === role) && (!ids || ids.has(member.id)));
  const text = q.trim().toLowerCase();
  // A read of the past takes each stream from the log, so that a search would read a stream for each member.
  if (text !== '' && ctx.asOf) throw invalid('/query/as_of', 'cannot be combined with q: search the members of today', 'not_with_filters');
  // The names are in the streams of the users, so that a search reads those of all members.
  const searched = text === '' ? null : await inBatches(ofRole, READ_AT_ONCE, ({ id }) => viewOf(id));
  const named = searched && new Map(searched.filter((view) => isNamed(view, text)).map((view) => [view.user_id, view]));
  const found = named ? ofRole.filter(({ id }) => named.has(id)) : ofRole;
  const { items, next } = paginate(found, window);
  const views = await Promise.all(items.map(({ id }) => named?.get(id) ?? viewOf(id)));
  return { body: JSON.stringify(z.array(MemberRead).parse(views)), next, total: found.length, position: tenant.position };
};

/**
 * Returns the ids of the agents that a user owns. It first waits until the projection has reached the end of the log,
 * so that no new agent is missing.
 * @throws Refusal not_caught_up
 */
const agentsOwned = async (ctx: Ctx, user_id: string): Promise<string[]> => {
  const end = await ctx.log.logEnd();
  if (end) await ctx.reads.passed(agents.name, end);
  return agentsOwnedBy(ctx.reads, ctx.tenant, user_id);
};

export const memberOperations = {
  listMembers: operation({
    method: 'get',
    path: MEMBERS,
    summary: "List the tenant's members",
    permit: 'tenant:read',
    query: listQuery({
      as_of: AsOf,
      q: z
        .string()
        .max(255)
        .optional()
        .meta({ description: 'Only members whose name or e-mail address contains this text; not with `as_of`' }),
      user_id: MemberIds.meta({ description: 'Only these members, separated by commas' }),
      role: z.enum(TENANT_ROLES).optional().meta({ description: 'Only members with this role in the tenant' }),
    }),
    reply: z.array(MemberRead),
    run: listMembers,
  }),
  inviteMember: operation({
    method: 'post',
    path: MEMBERS,
    summary: 'Add a member by e-mail address',
    permit,
    permissionNote,
    body: MemberInvite,
    reply: MemberRead,
    status: 201,
    location: `${MEMBERS}/:user_id`,
    run: inviteMember,
  }),
  changeMemberRole: operation({
    method: 'patch',
    path: MEMBER,
    summary: "Change a member's role",
    permit,
    permissionNote,
    body: MemberUpdate,
    reply: MemberRead,
    run: changeMemberRole,
  }),
  removeMember: operation({
    method: 'delete',
    path: MEMBER,
    summary: 'Remove a member',
    permit,
    permissionNote,
    run: (ctx, { user_id }) => removeMember(ctx, user_id, () => agentsOwned(ctx, user_id)),
  }),
};
