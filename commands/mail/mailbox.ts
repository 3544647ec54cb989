import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { PLATFORM, parseToken, tokenOf } from '../../domain/event.ts';
import { addressOf } from '../../domain/mail/address.ts';
import * as Mailbox from '../../domain/mail/mailbox.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { Ctx, Input, Loaded, Secrets } from '../context.ts';

export const AdminMailHealRequest = z
  .strictObject({
    service: z
      .enum(Mailbox.MAILBOX_KINDS)
      .default('internal')
      .meta({ description: '`internal`: gives each agent that lacks one a mailbox; `external`: applies what tenants and agents allow' }),
  })
  .meta({ id: 'AdminMailHealRequest', examples: [{ service: 'internal' }] });

export const MailboxUpdate = z
  .strictObject({
    is_paused: z
      .boolean()
      .nullable()
      .optional()
      .meta({ description: 'Whether the mailbox exchanges no mail', examples: [true] }),
  })
  .meta({ id: 'MailboxUpdate' });

export type AgentRef = { readonly tenant_id: string; readonly agent_id: string };

/** From the read models, in batches. `existing` returns those of the given mailboxes that exist. */
export type MailboxLists = {
  readonly agents: () => AsyncIterable<readonly AgentRef[]>;
  readonly enabledExternal: () => AsyncIterable<readonly (AgentRef & { readonly id: string })[]>;
  readonly existing: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
};

type MailboxOf = { readonly agent_id: string; readonly kind: Mailbox.MailboxKind; readonly domain: string };

export const mailboxIdOf = (uniqueId: Secrets['uniqueId'], { agent_id, kind, domain }: MailboxOf): string =>
  uniqueId('mailbox', `${agent_id} ${kind} ${domain}`, 0, PLATFORM);

type Owner = { readonly tenant: Tenant.Tenant; readonly agent: Agent.Agent };

export const wantedMailbox = ({ tenant, agent }: Owner, kind: Mailbox.MailboxKind, domain: string): Mailbox.NewMailbox => ({
  tenant_id: tenant.id,
  agent_id: agent.id,
  kind,
  address: addressOf({ agent: agent.slug, tenant: tenant.slug }, domain),
});

/** The settings of both tenant and agent must allow it. */
export const allowsExternalMail = ({ tenant, agent }: Owner): boolean =>
  tenant.external_mail_enabled && agent.external_mail_enabled && agent.status === 'live' && !Tenant.isClosed(tenant);

const loadOwner = async (ctx: Ctx, { tenant_id, agent_id }: AgentRef): Promise<Owner> => {
  const [tenant, agent] = await Promise.all([
    ctx.load(Tenant, tenant_id, { tenant: tenant_id }),
    ctx.load(Agent, agent_id, { tenant: tenant_id }),
  ]);
  return { tenant: tenant.state, agent: agent.state };
};

/** What `healMailboxes` has done so far: the number of created mailboxes, and the consistency token of the last change. */
type Healed = { provisioned: number; token: string | null };

/** Creates, enables and disables mailboxes. Call only in `ctx.sideEffect`, so that a repeat with the same Idempotency-Key does not run it again. */
const createHealer = (ctx: Ctx, domain: string, lists: MailboxLists) => {
  const healed: Healed = { provisioned: 0, token: null };

  const converge = async (id: string, wanted: Mailbox.NewMailbox, isAllowed: boolean): Promise<void> => {
    let changes: readonly Mailbox.MailboxEvent[] = [];
    const decide = (mailbox: Mailbox.Mailbox) => {
      changes = Mailbox.converge(wanted, isAllowed)(mailbox);
      return [...changes];
    };
    const { position } = await ctx.transact(Mailbox, id, decide, {
      tenant: wanted.tenant_id,
      isUntracked: true,
      ignoreExpectedRevision: true,
    });
    if (changes.length === 0 || !position) return;
    healed.token = tokenOf(position);
    if (changes[0]!.type === 'MailboxProvisioned') healed.provisioned += 1;
  };

  const provision = async (ref: AgentRef, kind: Mailbox.MailboxKind): Promise<void> => {
    const owner = await loadOwner(ctx, ref);
    const isAllowed = kind === 'external' ? allowsExternalMail(owner) : owner.agent.status === 'live' && !Tenant.isClosed(owner.tenant);
    const id = mailboxIdOf(ctx.secrets.uniqueId, { agent_id: ref.agent_id, kind, domain });
    if (isAllowed) await converge(id, wantedMailbox(owner, kind, domain), true);
  };

  const internal = async (): Promise<void> => {
    for await (const agents of lists.agents()) {
      const ids = agents.map(({ agent_id }) => mailboxIdOf(ctx.secrets.uniqueId, { agent_id, kind: 'internal', domain }));
      const existing = await lists.existing(ids);
      await Promise.all(agents.filter((_, index) => !existing.has(ids[index]!)).map((agent) => provision(agent, 'internal')));
    }
  };

  const external = async (): Promise<void> => {
    for await (const agents of lists.agents()) await Promise.all(agents.map((agent) => provision(agent, 'external')));
    for await (const mailboxes of lists.enabledExternal())
      await Promise.all(
        mailboxes.map(async ({ id, ...ref }) => {
          const owner = await loadOwner(ctx, ref);
          if (!allowsExternalMail(owner)) await converge(id, wantedMailbox(owner, 'external', domain), false);
        }),
      );
  };

  return async (service: Mailbox.MailboxKind): Promise<Healed> => {
    await (service === 'internal' ? internal() : external());
    return healed;
  };
};

/**
 * Creates missing mailboxes; enables or disables external ones by the settings of tenants and agents. One that a super-admin has paused
 * stays paused. Does nothing without a mail domain.
 * @throws Refusal unavailable
 */
export const healMailboxes = async (
  ctx: Ctx,
  { service }: Input<typeof AdminMailHealRequest>,
  domain: string | null,
  lists: MailboxLists,
): Promise<Loaded<object>> => {
  const { provisioned, token } = await ctx.sideEffect(
    async (): Promise<Healed> => (domain === null ? { provisioned: 0, token: null } : createHealer(ctx, domain, lists)(service)),
  );
  const position = token === null ? null : parseToken(token);
  return { id: service, state: { provisioned, provisioning_enabled: domain !== null }, revision: 0, position };
};

/** @throws Refusal not_found */
export const updateMailbox = async (ctx: Ctx, { id, is_paused }: Input<typeof MailboxUpdate, 'id'>): Promise<Loaded<Mailbox.Mailbox>> => {
  const loaded = await ctx.load(Mailbox, id);
  Mailbox.assertExists(loaded.state);
  const wanted = is_paused ?? loaded.state.is_paused_by_person;
  return ctx.transact(Mailbox, id, Mailbox.setPaused(wanted), { tenant: loaded.state.tenant_id });
};
