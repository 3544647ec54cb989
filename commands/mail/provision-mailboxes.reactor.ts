import type { AgentEvent } from '../../domain/agents/agent.ts';
import * as Agent from '../../domain/agents/agent.ts';
import * as Mailbox from '../../domain/mail/mailbox.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { ReactorCtx, UsesSecrets } from '../context.ts';
import { mailboxIdOf, wantedMailbox } from './mailbox.ts';

/** After these events, an agent gets its internal mailbox, if it has none. */
export const provisioningEventTypes = ['AgentCreated', 'AgentCloned', 'AgentRestored'] as const satisfies readonly AgentEvent['type'][];

/** A new agent gets its internal mailbox. A repeat does nothing. */
export const provisionMailbox = async (
  ctx: Pick<ReactorCtx, 'tenant' | 'load' | 'transact'> & UsesSecrets<'uniqueId'>,
  agent_id: string,
  domain: string,
): Promise<void> => {
  const [tenant, agent] = await Promise.all([ctx.load(Tenant, ctx.tenant), ctx.load(Agent, agent_id)]);
  if (agent.state.status !== 'live' || Tenant.isClosed(tenant.state)) return;
  const wanted = wantedMailbox({ tenant: tenant.state, agent: agent.state }, 'internal', domain);
  const id = mailboxIdOf(ctx.secrets.uniqueId, { agent_id, kind: 'internal', domain });
  await ctx.transact(Mailbox, id, Mailbox.converge(wanted, true));
};
