import type { DeliveryFacts } from '../../domain/deliveries/delivery.ts';
import { MAIL_PROVIDER, type MailFacts, mailDelivery, type NewMail } from '../../domain/deliveries/mail-delivery.ts';
import { withoutSplitMatches } from '../../domain/deliveries/redacted-mail.ts';
import type { GuardrailVerdict } from '../../domain/guardrails/guardrail.ts';
import type { MailContent } from '../../domain/mail/content.ts';
import { applyGuardrails } from '../deliveries/apply-guardrails.ts';
import type { GuardrailDecision } from '../deliveries/guarded-delivery.ts';
import type { GuardrailPort } from '../deliveries/webhook-ports.ts';

/** `record` appends the first event of a delivery; does nothing if it exists. */
export type MailIntake = {
  readonly guardrails: GuardrailPort;
  readonly record: (
    delivery: { readonly tenant_id: string; readonly id: string },
    type: 'MailReceived' | 'MailBlocked' | 'MailHeld',
    facts: DeliveryFacts,
    body: Uint8Array,
  ) => Promise<void>;
};

/** `cause`: the delivery that led to this message, if its sender names one. */
export type IncomingMail = NewMail & { readonly cause: string | undefined };

const automaticLabel = ({ automatic }: MailContent): GuardrailVerdict[] =>
  automatic ? [{ rule: 'automatic', verdict: 'label', note: automatic }] : [];

const typeOf = ({ reason, held }: GuardrailDecision) => {
  if (held) return 'MailHeld';
  return reason ? 'MailBlocked' : 'MailReceived';
};

/**
 * Applies the tenant's guardrails and redaction patterns; the relay then sends the message to the agent's runner. Does nothing if already
 * recorded.
 * @throws Refusal unavailable
 * @throws LogError unavailable, gone
 */
export const receiveMail = async (intake: MailIntake, tenant_id: string, { cause, ...mail }: IncomingMail): Promise<void> => {
  const { facts, body } = mailDelivery(mail);
  const { agent_id, integration_id: id } = facts;
  const decision = await applyGuardrails(intake.guardrails, {
    integration: { id, tenant_id, agent_id, provider: MAIL_PROVIDER, guardrails: [] },
    request: { header: (name) => (name === 'annals-delivery' ? cause : undefined), body },
    receivedAt: mail.at,
    event: null,
    media: 'json',
    json: 'json',
  });
  const { reason, verdicts, bytes, redactions, cause: found, held } = decision;
  const decided: MailFacts = {
    ...facts,
    reason,
    guardrails: [{ rule: 'json', verdict: 'pass', note: null }, ...automaticLabel(mail.content), ...verdicts],
    ...(redactions.length > 0 ? { redactions } : {}),
    ...(found ? { cause: found } : {}),
    ...(held ? { held } : {}),
  };
  const stored = bytes ? withoutSplitMatches(mail.content, bytes) : body;
  await intake.record({ tenant_id, id: mail.message_id }, typeOf(decision), decided, stored);
};
