import type { Logger } from 'pino';
import type { Ctx } from '../../commands/context.ts';
import type { WebhookPorts } from '../../commands/deliveries/webhook-ports.ts';
import { recordReport } from '../../commands/mail/record-report.ts';
import type { Actor } from '../../domain/event.ts';
import type { AggregateCache } from '../aggregates/aggregate-cache.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Config } from '../config.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { SmtpReceiver } from '../mail/smtp-receiver.ts';
import { uniqueIdIn } from '../vault/tenant-ids.ts';
import type { Vault } from '../vault/vault.ts';

const ACTOR: Actor = { kind: 'system', id: 'smtp' };

type MailReceiverParts = {
  readonly connections: { readonly log: Log; readonly vault: Vault; readonly cache: AggregateCache; readonly blobs: BlobStore };
  readonly ports: Pick<WebhookPorts, 'guardrails' | 'eligibility'>;
  readonly logger: Logger;
  readonly systemContext: (tenant: string) => Ctx;
};

/** Receives mail by SMTP if this is configured. The modules are loaded only in that case. */
export const startMailReceiver = async (
  { smtpListen, mailDomain }: Pick<Config, 'smtpListen' | 'mailDomain'>,
  { connections, ports, logger, systemContext }: MailReceiverParts,
): Promise<SmtpReceiver | null> => {
  if (smtpListen === undefined || mailDomain === undefined) return null;
  const { log, vault, cache, blobs } = connections;
  const { startSmtpReceiver } = await import('../mail/smtp-receiver.ts');
  const { mailIntake } = await import('../mail/mail-intake.ts');
  return startSmtpReceiver({
    domain: mailDomain,
    listen: smtpListen,
    logger,
    now: Date.now,
    reads: {
      load: cache.refresh,
      uniqueId: uniqueIdIn(vault),
    },
    intake: mailIntake(log, vault, { guardrails: ports.guardrails, actor: ACTOR }),
    putFile: (tenant, bytes) => blobs.of(tenant).put(bytes),
    recordReport: (tenant, agent_id, report) => recordReport(systemContext(tenant), agent_id, report),
    enforceQuota: (tenant) => ports.eligibility.enforceQuota(tenant, () => {}),
  });
};
