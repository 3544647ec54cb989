import type { GuardrailPort } from '../../commands/deliveries/webhook-ports.ts';
import type { MailIntake } from '../../commands/mail/receive-mail.ts';
import type { Actor } from '../../domain/event.ts';
import { deliveryAppender } from '../deliveries/append-delivery.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { SealedEvents } from '../vault/sealed-events.ts';

/** `actor` is that of the recorded events. */
export const mailIntake = (
  log: Log,
  vault: Pick<SealedEvents, 'sealEvent'>,
  { guardrails, actor }: { readonly guardrails: GuardrailPort; readonly actor: Actor },
): MailIntake => ({
  guardrails,
  record: (delivery, type, facts, body) => deliveryAppender(log, vault, { type, actor, seed: 'received' })(delivery, facts, body),
});
