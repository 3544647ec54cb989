import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import { AdminMailHealRequest, healMailboxes, MailboxUpdate, updateMailbox } from '../../commands/mail/mailbox.ts';
import type { MailSettings } from '../../commands/mail/send-mail.ts';
import * as Agent from '../../domain/agents/agent.ts';
import * as Mailbox from '../../domain/mail/mailbox.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { allAgents } from '../../projections/agents/agent.queries.ts';
import { agents } from '../../projections/agents/agent.ts';
import {
  AGENT_MAILBOX_SORTS,
  agentMailboxPage,
  enabledExternalMailboxes,
  existingMailboxes,
  MAILBOX_SORTS,
  type MailboxCounts,
  mailboxCounts,
  mailboxPage,
} from '../../projections/mail/mailbox.queries.ts';
import { AdminMailboxRow, AgentMailboxRow, mailboxes } from '../../projections/mail/mailbox.ts';
import { type Ctx, operation } from '../http/operation.ts';
import { Flag, listQuery, windowOf } from '../http/paging.ts';
import { staleIfError } from '../http/stale-if-error.ts';

const AdminMailHealResult = z
  .object({
    provisioned: z.int().meta({ description: 'How many mailboxes are new', examples: [3] }),
    provisioning_enabled: z.boolean().meta({ description: 'Whether MAIL_DOMAIN is set; without it, nothing is done', examples: [true] }),
  })
  .meta({ id: 'AdminMailHealResult' });

type OwnerIds = { readonly tenant_id: string; readonly agent_id: string };

/** Returns the names of a mailbox's tenant and agent; for a deleted agent, null. */
const namesOf = async (ctx: Ctx, { tenant_id, agent_id }: OwnerIds) => {
  const [tenant, agent] = await Promise.all([
    ctx.load(Tenant, tenant_id, { tenant: tenant_id }),
    ctx.load(Agent, agent_id, { tenant: tenant_id }),
  ]);
  return { tenant_name: tenant.state.name, agent_name: agent.state.status === 'live' ? agent.state.name : null };
};

/**
 * Waits until the lists of agents and mailboxes contain everything that is in the log. The repair of mailboxes reads
 * these lists.
 * @throws Refusal unavailable, not_caught_up
 */
const catchUp = async (ctx: Ctx): Promise<void> => {
  const end = await ctx.log.logEnd();
  if (end) await Promise.all([agents.name, mailboxes.name].map((projection) => ctx.reads.passed(projection, end)));
};

const NO_MESSAGES: MailboxCounts = { message_count: 0, last_message_at: null };
const lastKnownCounts = staleIfError<MailboxCounts>(NO_MESSAGES);

export const mailboxOperationsOf = (settings: MailSettings) => ({
  healMailboxes: operation({
    method: 'post',
    path: '/admin/mail/heal',
    summary: 'Provision missing mailboxes',
    details:
      '`internal` gives every agent that lacks one a mailbox. `external` creates, enables and disables mailboxes as tenants and agents allow external mail. It never resumes a mailbox that was paused, and a repeat changes nothing.',
    permit: 'platform',
    body: AdminMailHealRequest,
    reply: AdminMailHealResult,
    noETag: true,
    run: async (ctx, input) =>
      healMailboxes(ctx, input, settings.domain, {
        agents: async function* () {
          await catchUp(ctx);
          yield* allAgents(ctx.reads);
        },
        enabledExternal: () => enabledExternalMailboxes(ctx.reads),
        existing: (ids) => existingMailboxes(ctx.reads, ids),
      }),
  }),
  listMailboxes: operation({
    method: 'get',
    path: '/admin/mailboxes',
    summary: 'List the mailboxes of the platform',
    permit: 'platform',
    query: listQuery(
      {
        q: z.string().min(1).max(255).optional().meta({ description: 'Only mailboxes with this text in their address' }),
        is_paused: Flag.optional().meta({ description: 'Only mailboxes that are paused, or only those that are not' }),
      },
      MAILBOX_SORTS,
    ),
    reply: z.array(AdminMailboxRow),
    projection: mailboxes.name,
    run: async (ctx, { q, is_paused, ...window }) => {
      const page = await mailboxPage(ctx.reads, { q, is_paused }, windowOf(window, MAILBOX_SORTS));
      const found = JSON.parse(page.body) as OwnerIds[];
      const rows = await Promise.all(found.map(async (mailbox) => ({ ...mailbox, ...(await namesOf(ctx, mailbox)) })));
      return { ...page, body: JSON.stringify(z.array(AdminMailboxRow).parse(rows)) };
    },
  }),
  updateMailbox: operation({
    method: 'patch',
    path: '/admin/mailboxes/:id',
    summary: 'Pause or resume a mailbox',
    details: 'A paused mailbox neither sends nor receives mail.',
    permit: 'platform',
    body: MailboxUpdate,
    reply: AdminMailboxRow,
    run: async (ctx, input) => {
      const loaded = await updateMailbox(ctx, input);
      const { state } = loaded;
      const counts = await ctx.sideEffect(() => lastKnownCounts(ctx.reads, loaded.id, mailboxCounts(ctx.reads, loaded.id)));
      return { ...loaded, state: { ...state, ...counts, ...(await namesOf(ctx, state)), is_paused: !Mailbox.isActive(state) } };
    },
  }),
  listAgentMailboxes: operation({
    method: 'get',
    path: '/tenant/:tenant_id/agents/:agent_id/mailboxes',
    summary: 'List the mailboxes of an agent',
    details:
      'A new agent gets its internal mailbox within moments, if the platform exchanges mail. Its external one is created when a super-admin calls `POST /admin/mail/heal`.',
    permit: 'agent:read',
    query: listQuery(
      { kind: z.enum(Mailbox.MAILBOX_KINDS).optional().meta({ description: 'Only internal mailboxes, or only external ones' }) },
      AGENT_MAILBOX_SORTS,
    ),
    reply: z.array(AgentMailboxRow),
    projection: mailboxes.name,
    run: async (ctx, { tenant_id, agent_id, kind, ...window }) => {
      await loadAgent(ctx, agent_id);
      return agentMailboxPage(ctx.reads, { tenant_id, agent_id, kind }, windowOf(window, AGENT_MAILBOX_SORTS));
    },
  }),
});
