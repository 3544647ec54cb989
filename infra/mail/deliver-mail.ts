import type { ReactorCtx } from '../../commands/context.ts';
import { deliverMail, type MailDelivery } from '../../commands/mail/deliver-mail.reactor.ts';
import type { Actor } from '../../domain/event.ts';
import * as TenantGuardrails from '../../domain/guardrails/tenant-guardrails.ts';
import * as RedactionPatterns from '../../domain/redaction/redaction-patterns.ts';
import { hasHeldOver } from '../../projections/deliveries/held-delivery.queries.ts';
import { attachmentsWithIds, MAX_DUE_MAIL, mailDueAt } from '../../projections/mail/message.queries.ts';
import type { Reads } from '../../projections/read-model.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import { guardrailPort } from '../deliveries/guardrail-port.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { SlidingWindows } from '../ratelimit/sliding-windows.ts';
import { forEachConcurrently } from '../reactors/for-each-concurrently.ts';
import { startTimedReactor, type TimedReactorParts } from '../reactors/timed-reactor.ts';
import { uniqueIdIn } from '../vault/tenant-ids.ts';
import type { Vault } from '../vault/vault.ts';
import { mailIntake } from './mail-intake.ts';
import { createSmtpClient } from './smtp-client.ts';

const INTERVAL_MS = 1_000;
const LOCK = 'reactor mail';
const ACTOR: Actor = { kind: 'system', id: 'mail' };

type MailServices = { readonly vault: Vault; readonly blobs: BlobStore };

/** `services` is called when the first message is due. Without `smtpUrl`, external mail waits. */
export type MailDelivererParts = TimedReactorParts & {
  readonly log: Log;
  readonly domain: string;
  readonly smtpUrl: string | undefined;
  readonly services: () => Promise<MailServices>;
  /** The windows in which deliveries are counted, of webhooks as well as of mail. */
  readonly windows: SlidingWindows;
};

const NOT_CONFIGURED = 'not_configured';

export const mailContext = (ctx: ReactorCtx, vault: Pick<Vault, 'open' | 'uniqueId'>, tenant: string) => ({
  ...ctx.inTenant(tenant),
  secrets: { open: vault.open, uniqueId: uniqueIdIn(vault, tenant) },
});

/** Opens what is needed to deliver mail, except the read models. */
const openDelivery = async (parts: MailDelivererParts, reads: Pick<Reads, 'rows'>) => {
  const { log, domain, smtpUrl, services, windows, logger, now = Date.now } = parts;
  const { vault, blobs } = await services();
  const ctx = reactorContext(log, { actor: ACTOR, now });
  // A subscription keeps the rules of tenants current, so they need not be read for each message.
  const rules = openAggregateCache(log, [RedactionPatterns, TenantGuardrails], { cacheAbsent: [RedactionPatterns, TenantGuardrails] });
  await rules.start();
  const guardrails = guardrailPort({ cache: rules, logger, windows, hasHeld: hasHeldOver(reads) });
  const intake = mailIntake(log, vault, { guardrails, actor: ACTOR });
  const smtp = smtpUrl === undefined ? null : createSmtpClient(smtpUrl, blobs);
  const deliveryOf = (reads: Pick<Reads, 'rows'>): MailDelivery => ({
    domain,
    filesOf: async (owner, ids) => {
      if (ids.length === 0) return [];
      const found = await attachmentsWithIds(reads, owner, ids);
      return ids
        .flatMap((id) => found.filter((one) => one.id === id))
        .map(({ id: attachment_id, message_id: _, ...file }) => ({ ...file, attachment_id }));
    },
    intake,
    sendOut: async (mail) =>
      smtp ? smtp.send(mail) : mail.envelope.map((address) => ({ address, reason: NOT_CONFIGURED, isPermanent: false })),
  });
  const close = async (): Promise<void> => {
    smtp?.close();
    await guardrails.close();
    await rules.close();
  };
  return { contextOf: (tenant: string) => mailContext(ctx, vault, tenant), deliveryOf, close };
};

/** Starts the reactor that delivers the mail that agents send. Only one process does this at a time. */
export const startMailDeliverer = (parts: MailDelivererParts) => {
  const { logger } = parts;
  let opened: ReturnType<typeof openDelivery> | undefined;
  const open = (reads: Pick<Reads, 'rows'>): ReturnType<typeof openDelivery> => {
    opened ??= openDelivery(parts, reads).catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
  const reactor = startTimedReactor(
    {
      lock: LOCK,
      intervalMs: INTERVAL_MS,
      failure: 'mail cannot be delivered now; trying again',
      run: async (reads, at) => {
        const due = await mailDueAt(reads, at);
        if (due.length === 0) return false;
        const { contextOf, deliveryOf } = await open(reads);
        const delivery = deliveryOf(reads);
        await forEachConcurrently(due, ({ tenant_id, id }) =>
          deliverMail(contextOf(tenant_id), delivery, id).catch((error: Error) =>
            logger.warn({ mail: id, reason: error.message }, 'a message cannot be delivered now; trying again'),
          ),
        );
        return due.length === MAX_DUE_MAIL;
      },
    },
    parts,
  );
  return {
    close: async (): Promise<void> => {
      await reactor.close();
      await (await opened?.catch(() => undefined))?.close();
    },
  };
};
