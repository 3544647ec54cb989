import type { MailIntake } from '../../commands/mail/receive-mail.ts';
import type { GuardrailPort } from '../../commands/webhooks/webhook-ports.ts';
import type { Actor } from '../../domain/event.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { SealedEvents } from '../vault/sealed-events.ts';
import { deliveryAppender } from '../webhooks/append-delivery.ts';

/** `actor` is that of the recorded events. */
export const mailIntake = (
  log: Log,
  vault: Pick<SealedEvents, 'sealEvent'>,
  { guardrails, actor }: { readonly guardrails: GuardrailPort; readonly actor: Actor },
): MailIntake => ({
  guardrails,
  record: (delivery, type, facts, body) => deliveryAppender(log, vault, { type, actor, seed: 'received' })(delivery, facts, body),
});
