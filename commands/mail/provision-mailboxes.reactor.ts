import type { AgentEvent } from '../../domain/agents/agent.ts';
import * as Agent from '../../domain/agents/agent.ts';
import type { Decision } from '../../domain/aggregate.ts';
import type { Recorded } from '../../domain/event.ts';
import * as Mailbox from '../../domain/mail/mailbox.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { AggregateReader, Ctx } from '../context.ts';
import { mailboxIdOf, wantedMailbox } from './mailbox.ts';

/** The types of the events after which an agent gets its internal mailbox, if it has none. */
export const provisioningEventTypes = ['AgentCreated', 'AgentCloned', 'AgentRestored'] as const satisfies readonly AgentEvent['type'][];

/**
 * Functions that load aggregates, and append the events that a decision about a mailbox of a tenant returns. They throw
 * Refusal.
 */
export type ProvisioningPorts = Pick<AggregateReader, 'load'> &
  Pick<Ctx, 'uniqueId'> & {
    readonly transact: (
      id: string,
      decide: Decision<Mailbox.Mailbox, Mailbox.MailboxEvent>,
      cause: { readonly tenant: string; readonly seed: string },
    ) => Promise<unknown>;
  };

/** Gives a new agent its internal mailbox. A repeat does nothing. @throws Refusal unavailable */
export const provisionMailbox = async (ports: ProvisioningPorts, event: Recorded, domain: string): Promise<void> => {
  const { tenant: tenant_id, id: agent_id, event_id } = event;
  const [tenant, agent] = await Promise.all([ports.load(Tenant, tenant_id, tenant_id), ports.load(Agent, tenant_id, agent_id)]);
  if (agent.state.status !== 'live' || Tenant.isClosed(tenant.state)) return;
  const wanted = wantedMailbox({ tenant: tenant.state, agent: agent.state }, 'internal', domain);
  const id = mailboxIdOf(ports.uniqueId, { agent_id, kind: 'internal', domain });
  await ports.transact(id, Mailbox.converge(wanted, true), { tenant: tenant_id, seed: event_id });
};
