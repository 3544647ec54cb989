import * as Agent from '../../domain/agents/agent.ts';
import { PLATFORM } from '../../domain/event.ts';
import type { AddressSlugs } from '../../domain/mail/address.ts';
import * as Mailbox from '../../domain/mail/mailbox.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { AggregateReader, Ctx, Secrets } from '../context.ts';
import { allowsExternalMail, mailboxIdOf } from './mailbox.ts';

/** Loads tenants, agents and mailboxes, and derives their ids. */
export type MailReads = Pick<AggregateReader, 'load'> & Pick<Secrets, 'uniqueId'>;

export const mailReadsOf = (ctx: Ctx): MailReads => ({
  load: (aggregate, tenant, id) => ctx.load(aggregate, id, { tenant }),
  uniqueId: ctx.secrets.uniqueId,
});

/** Why an agent gets no mail. */
export type Unreachable = 'unknown' | 'no_mailbox' | 'tenant_suspended' | 'agent_inactive' | 'external_mail_off' | 'mailbox_paused';

/** An agent that can get mail. */
export type Recipient = { readonly tenant: Tenant.Tenant; readonly agent: Agent.Agent; readonly mailbox: Mailbox.Mailbox };

const tenantWithSlug = async ({ load, uniqueId }: MailReads, slug: string): Promise<Tenant.Tenant | null> => {
  for (let generation = 0; ; generation++) {
    const id = uniqueId('tenant', slug, generation, PLATFORM);
    const { state } = await load(Tenant, id, id);
    if (state.status === 'absent') return null;
    if (!Tenant.isClosed(state)) return state;
  }
};

export const agentWithSlug = async ({ load, uniqueId }: MailReads, tenant_id: string, slug: string): Promise<Agent.Agent | null> => {
  for (let generation = 0; ; generation++) {
    const { state } = await load(Agent, tenant_id, uniqueId('agent', slug, generation, tenant_id));
    if (state.status === 'live') return state;
    if (state.status !== 'released') return null;
  }
};

type Place = { readonly kind: Mailbox.MailboxKind; readonly domain: string };

/** Null if the agent gets mail in this mailbox. */
export const unreachableReason = ({ tenant, agent, mailbox }: Recipient, kind: Mailbox.MailboxKind): Unreachable | null => {
  if (tenant.status !== 'active') return 'tenant_suspended';
  if (agent.status !== 'live' || !agent.is_active) return 'agent_inactive';
  if (kind === 'external' && !allowsExternalMail({ tenant, agent })) return 'external_mail_off';
  if (mailbox.status === 'absent') return 'no_mailbox';
  return Mailbox.isActive(mailbox) ? null : 'mailbox_paused';
};

/** Returns the reason if no agent gets mail at the address. @throws Refusal unavailable */
export const findRecipient = async (
  reads: MailReads,
  slugs: AddressSlugs,
  { kind, domain }: Place,
): Promise<Recipient | { readonly unreachable: Unreachable }> => {
  const tenant = await tenantWithSlug(reads, slugs.tenant);
  const agent = tenant && (await agentWithSlug(reads, tenant.id, slugs.agent));
  if (!tenant || !agent) return { unreachable: 'unknown' };
  const id = mailboxIdOf(reads.uniqueId, { agent_id: agent.id, kind, domain });
  const { state: mailbox } = await reads.load(Mailbox, PLATFORM, id);
  const recipient = { tenant, agent, mailbox };
  const unreachable = unreachableReason(recipient, kind);
  return unreachable ? { unreachable } : recipient;
};
