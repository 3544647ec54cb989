import { provisioningEventTypes, provisionMailbox } from '../../commands/mail/provision-mailboxes.reactor.ts';
import { type FollowerServices, following } from '../reactors/follow-events.ts';
import { uniqueIdIn } from '../vault/tenant-ids.ts';
import type { Vault } from '../vault/vault.ts';
import type { MailConfig } from './deliver-mail.ts';

type Services = FollowerServices & {
  readonly config: MailConfig;
  readonly vault: { readonly open: () => Promise<Pick<Vault, 'uniqueId'>> };
};

/** Every new agent gets its internal mailbox. */
export const mailboxProvisioning = following<Services>({
  isWanted: ({ config }) => config.mailDomain !== undefined,
  name: 'mailboxes',
  eventTypes: provisioningEventTypes,
  failure: 'mailboxes cannot be provisioned now; trying again',
  handle: async (ctx, { tenant, id }, { config, vault }) =>
    provisionMailbox({ ...ctx, secrets: { uniqueId: uniqueIdIn(await vault.open(), tenant) } }, id, config.mailDomain!),
});
