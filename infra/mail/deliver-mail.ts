import type { ReactorCtx } from '../../commands/context.ts';
import { deliverMail, type MailDelivery } from '../../commands/mail/deliver-mail.reactor.ts';
import type { Actor } from '../../domain/event.ts';
import * as TenantGuardrails from '../../domain/guardrails/tenant-guardrails.ts';
import * as RedactionPatterns from '../../domain/redaction/redaction-patterns.ts';
import { hasHeldOver } from '../../projections/deliveries/held-delivery.queries.ts';
import { attachmentsWithIds, MAX_DUE_MAIL, mailDueAt } from '../../projections/mail/message.queries.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Config } from '../config.ts';
import { guardrailPort } from '../deliveries/guardrail-port.ts';
import type { SlidingWindows } from '../ratelimit/sliding-windows.ts';
import { DEFAULT_CONCURRENCY } from '../reactors/for-each-concurrently.ts';
import { type TimerServices, timed } from '../reactors/timed.ts';
import { uniqueIdIn } from '../vault/tenant-ids.ts';
import type { Vault } from '../vault/vault.ts';
import { mailIntake } from './mail-intake.ts';
import { createSmtpClient } from './smtp-client.ts';

const ACTOR: Actor = { kind: 'system', id: 'mail' };

/** Without `mailDomain`, agents have no mailboxes; without `smtpUrl`, external mail waits. */
export type MailConfig = Pick<Config, 'mailDomain' | 'smtpUrl'>;

type Services = TimerServices & {
  readonly config: MailConfig;
  readonly vault: { readonly open: () => Promise<Vault> };
  readonly blobs: () => Promise<BlobStore>;
  /** The windows in which deliveries are counted, of webhooks as well as of mail. */
  readonly windows: SlidingWindows;
};

const NOT_CONFIGURED = 'not_configured';

export const mailContext = (ctx: ReactorCtx, vault: Pick<Vault, 'open' | 'uniqueId'>, tenant: string) => ({
  ...ctx.inTenant(tenant),
  secrets: { open: vault.open, uniqueId: uniqueIdIn(vault, tenant) },
});

const openDelivery = async ({ log, config, vault: lazyVault, blobs: openBlobs, windows, sessions, logger, now }: Services) => {
  const [vault, blobs, { reads }] = [await lazyVault.open(), await openBlobs(), sessions];
  const ctx = reactorContext(log, { actor: ACTOR, now });
  // A subscription keeps the rules of tenants current, so they need not be read for each message.
  const rules = openAggregateCache(log, [RedactionPatterns, TenantGuardrails], { cacheAbsent: [RedactionPatterns, TenantGuardrails] });
  await rules.start();
  const guardrails = guardrailPort({ cache: rules, logger, windows, hasHeld: hasHeldOver(reads) });
  const smtp = config.smtpUrl === undefined ? null : createSmtpClient(config.smtpUrl, blobs);
  const delivery: MailDelivery = {
    domain: config.mailDomain!,
    filesOf: async (owner, ids) => {
      if (ids.length === 0) return [];
      const found = await attachmentsWithIds(reads, owner, ids);
      return ids
        .flatMap((id) => found.filter((one) => one.id === id))
        .map(({ id: attachment_id, message_id: _, ...file }) => ({ ...file, attachment_id }));
    },
    intake: mailIntake(log, vault, { guardrails, actor: ACTOR }),
    sendOut: async (mail) =>
      smtp ? smtp.send(mail) : mail.envelope.map((address) => ({ address, reason: NOT_CONFIGURED, isPermanent: false })),
  };
  const close = async (): Promise<void> => {
    smtp?.close();
    await guardrails.close();
    await rules.close();
  };
  return { contextOf: (tenant: string) => mailContext(ctx, vault, tenant), delivery, close };
};

/** Delivers the mail that agents send. */
export const mailDeliveries = timed({
  isWanted: ({ config }: Services) => config.mailDomain !== undefined,
  lock: 'reactor mail',
  everyMs: 1_000,
  failure: 'mail cannot be delivered now; trying again',
  due: mailDueAt,
  max: MAX_DUE_MAIL,
  concurrency: DEFAULT_CONCURRENCY,
  open: openDelivery,
  handle: (_, { tenant_id, id }, { contextOf, delivery }) => deliverMail(contextOf(tenant_id), delivery, id),
  failed: (logger, { id }, reason) => logger.warn({ mail: id, reason }, 'a message cannot be delivered now; trying again'),
  close: ({ close }) => close(),
});
