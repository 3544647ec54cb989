import type { Recorded } from '../event.ts';
import { omit } from '../omit.ts';
import { conflict, notFound } from '../refusal.ts';
import { type Delivery, type DeliveryEvent, type DeliveryFacts, factsOf } from './delivery.ts';
import type { ReleaseChecks, ReleasedFields } from './release-fields.ts';

type ReleasedEvent = Recorded<Extract<DeliveryEvent, { type: 'DeliveryReleased' }>>;

const SOLE_RELEASE = 'A delivery is released only once: to send it again, redeliver it';

const unreleasable = (code: string, detail: string, members?: Readonly<Record<string, unknown>>) =>
  conflict('/path/delivery_id', code, detail, members);

/** @throws Refusal not_found, conflict unless the delivery is blocked or held, or was held too long */
export const assertReleasable = ({ status, released }: Delivery): void => {
  if (status === 'absent') throw notFound();
  if (released) {
    const { at, actor } = released;
    const members = { released_at: at, released_by: { kind: actor.kind, id: actor.id } };
    throw unreleasable('already_released', `The delivery was released at ${at} by the ${actor.kind} ${actor.id}. ${SOLE_RELEASE}`, members);
  }
  if (status === 'accepted') throw unreleasable('not_blocked', 'The delivery was not blocked: to send it again, redeliver it');
};

/** The redaction rules cannot be applied to the body. */
export const unredactable = (why: string) =>
  unreleasable('not_redactable', `The delivery cannot be released, because it cannot be redacted: ${why}`);

/** @throws Refusal not_found if it does not exist, conflict if it was neither blocked nor held, or was already released */
export const release =
  (fields: ReleasedFields) =>
  (delivery: Delivery): DeliveryEvent[] => {
    assertReleasable(delivery);
    return [{ type: 'DeliveryReleased', data: fields }];
  };

/** A delivery that is held for longer is given up. */
export const MAX_HELD_MS = 7 * 86_400_000;

/** No event if the delivery is not held any more. */
export const releaseHeld =
  (checks: ReleaseChecks) =>
  ({ status, facts }: Delivery): DeliveryEvent[] =>
    status === 'held' ? [{ type: 'DeliveryReleased', data: { agent_id: facts!.agent_id, reason: null, ...checks } }] : [];

/** No event if the delivery is not held any more. */
export const expireHeld = ({ status }: Delivery): DeliveryEvent[] => (status === 'held' ? [{ type: 'HeldDeliveryExpired', data: {} }] : []);

/** The types of the events if the deliveries had been accepted. */
const ACCEPTED_TYPES: Readonly<Record<string, DeliveryEvent['type']>> = {
  WebhookBlocked: 'WebhookAccepted',
  SkillWebhookBlocked: 'SkillWebhookCalled',
  MailBlocked: 'MailReceived',
  WebhookHeld: 'WebhookAccepted',
  SkillWebhookHeld: 'SkillWebhookCalled',
  MailHeld: 'MailReceived',
} satisfies Partial<Record<DeliveryEvent['type'], DeliveryEvent['type']>>;

export const isReleased = (event: Recorded): event is ReleasedEvent => event.type === 'DeliveryReleased';

/** Returns the facts with those of the body that is sent. */
export const releasedFacts = (facts: DeliveryFacts, { body, redactions = facts.redactions }: ReleasedFields): DeliveryFacts => {
  const described = redactions ? { ...facts, redactions } : facts;
  if (!body) return described;
  const whole = omit(described, 'parts', 'sealed');
  return { ...whole, ...body };
};

/**
 * The first event as if it had been accepted, with id, position and time of the release. `body` is redacted; null to send that of `first`,
 * which must then be decrypted.
 */
export const releasedEvent = (released: ReleasedEvent, first: Recorded, body: Uint8Array | null): Recorded => {
  const { event_id, position, at, data } = released;
  const before = factsOf(first);
  const facts: DeliveryFacts = {
    ...releasedFacts(before, data),
    agent_id: data.agent_id,
    reason: null,
    guardrails: [...before.guardrails, ...data.guardrails],
    released_from: before.reason!,
  };
  const type = ACCEPTED_TYPES[first.type]!;
  return { ...first, type, event_id, position, at, data: body ?? first.data, meta: { ...first.meta, facts } };
};
