import { provisioningEventTypes, provisionMailbox } from '../../commands/mail/provision-mailboxes.reactor.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import { type FollowerParts, followEvents } from '../reactors/follow-events.ts';
import { uniqueIdIn } from '../vault/tenant-ids.ts';
import type { Vault } from '../vault/vault.ts';

type ProvisionerParts = FollowerParts & {
  readonly domain: string;
  readonly openVault: () => Promise<Pick<Vault, 'uniqueId'>>;
};

/** Creates the internal mailbox of every new agent. Any number of processes can run it. */
export const startMailboxProvisioner = (parts: ProvisionerParts): { close: () => Promise<void> } => {
  const { log, domain, openVault } = parts;
  const ctx = reactorContext(log);
  return followEvents(
    {
      name: 'mailboxes',
      eventTypes: provisioningEventTypes,
      handle: async ({ tenant, id, event_id }) => {
        const secrets = { uniqueId: uniqueIdIn(await openVault(), tenant) };
        await provisionMailbox({ ...ctx.inTenant(tenant).withSeed(event_id), secrets }, id, domain);
      },
      failure: 'mailboxes cannot be provisioned now; trying again',
    },
    parts,
  );
};
