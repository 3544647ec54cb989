import { type ProvisioningPorts, provisioningEventTypes, provisionMailbox } from '../../commands/mail/provision-mailboxes.reactor.ts';
import type { Actor } from '../../domain/event.ts';
import { PLATFORM } from '../../domain/event.ts';
import * as Mailbox from '../../domain/mail/mailbox.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { createTransact } from '../aggregates/transact.ts';
import type { Log } from '../eventstore/event-log.ts';
import { openOnce } from '../open-once.ts';
import type { Vault } from '../vault/vault.ts';
import { type FollowerParts, followEvents } from './follow-events.ts';

const ACTOR: Actor = { kind: 'system', id: 'annals' };

type ProvisionerParts = FollowerParts & {
  readonly domain: string;
  readonly openVault: () => Promise<Pick<Vault, 'uniqueId'>>;
};

/**
 * Creates the ports with which the reactor works. They have no subscription to the log, so every state is read from the
 * log.
 */
const provisioningPorts = (log: Log, vault: Pick<Vault, 'uniqueId'>): ProvisioningPorts => {
  const cache = openAggregateCache(log, []);
  const transact = createTransact(log, cache);
  return {
    load: cache.refresh,
    uniqueId: (kind, key, generation, tenant = PLATFORM) => vault.uniqueId(kind, tenant, key, generation),
    transact: (id, decide, { tenant, seed }) => {
      const meta = { tenant, actor: ACTOR, at: new Date().toISOString(), v: 1 };
      return transact({ aggregate: Mailbox, tenant: PLATFORM, id, decide, meta, seed });
    },
  };
};

/**
 * Starts the reactor that creates the internal mailbox of every new agent. Any number of processes can run this
 * reactor.
 */
export const startMailboxProvisioner = (parts: ProvisionerParts): { close: () => Promise<void> } => {
  const { log, domain, openVault } = parts;
  const ports = openOnce(async () => provisioningPorts(log, await openVault()));
  return followEvents(
    {
      name: 'mailboxes',
      eventTypes: provisioningEventTypes,
      handle: async (event) => provisionMailbox(await ports(), event, domain),
      failure: 'mailboxes cannot be provisioned now; trying again',
    },
    parts,
  );
};
