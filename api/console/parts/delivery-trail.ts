import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { whyWords } from '../../webhooks/held-words.ts';
import { counted } from './count-text.ts';
import { attemptText } from './failure-text.ts';
import { heldText } from './held-text.ts';
import { shortId } from './short-id.ts';
import { type Child, tags } from './tags.ts';
import type { TrailStep } from './trail.ts';

const { code, span } = tags;

type Detail = ReplyOf<Rows['getDelivery']>;
type Event = Detail['causation'][number];

/** A step that belongs to a message: the event that started it, its publication, or an attempt. */
type MessageStep = TrailStep & { readonly message: string };

const EVENTS: Readonly<Record<string, readonly [TrailStep['icon'], string]>> = {
  DeliveryRequeued: ['rotate-ccw', 'Sent again'],
  DeliveryReleased: ['rotate-ccw', 'Released'],
  SessionStarted: ['message-square', 'A session was started'],
};

const ATTEMPTS = {
  acknowledged: ['check-check', 'good', 'Acknowledged by the runner'],
  failed: ['circle-x', 'warn', 'Refused by the runner'],
  expired: ['timer', 'warn', 'No answer from the runner'],
  max_deliveries: ['skull', 'dead', 'Given up after the last attempt'],
  terminated: ['skull', 'dead', 'Given up by the runner'],
} as const;

const VERDICTS = {
  pass: ['shield-check', 'good', 'passed'],
  block: ['ban', 'warn', 'blocked the delivery'],
  hold: ['circle-pause', 'warn', 'held the delivery'],
  redact: ['fingerprint', 'calm', 'redacted parts'],
  label: ['info', 'calm', 'labelled the delivery'],
} as const;

const signatureStep = ({ received_at, matched_secret, outcome, reason, reason_note, provider }: Detail): TrailStep => {
  if (outcome === 'rejected')
    return {
      icon: 'shield-x',
      tone: 'bad',
      title: 'Rejected',
      detail: `Reason: ${reason ?? 'unknown'}${reason_note ? ` (${reason_note})` : ''}. No body was stored.`,
      at: received_at,
    };
  if (matched_secret === null)
    return { icon: 'shield-check', tone: 'calm', title: `Received from ${provider ?? 'an unknown sender'}`, at: received_at };
  const tone = matched_secret === 'previous' ? 'warn' : 'good';
  return {
    icon: 'shield-check',
    tone,
    title: 'Signature verified',
    detail: `It was signed with the ${matched_secret} secret.`,
    at: received_at,
  };
};

/** Returns what each guardrail decided, how much was redacted, and why the delivery was blocked. */
const verdictSteps = ({ guardrails, redactions, outcome, reason, released }: Detail): readonly TrailStep[] => [
  ...[...guardrails, ...(released?.guardrails ?? [])].map(({ rule, verdict, note }): TrailStep => {
    const [icon, tone, words] = VERDICTS[verdict];
    return { icon, tone, title: `Guardrail ${rule.replaceAll('_', ' ')} ${words}`, detail: note, at: null };
  }),
  ...(redactions > 0
    ? [
        {
          icon: 'fingerprint',
          tone: 'calm',
          title: `${counted(redactions, 'part')} ${redactions === 1 ? 'was' : 'were'} redacted`,
          at: null,
        } as const,
      ]
    : []),
  ...(outcome === 'blocked'
    ? [{ icon: 'ban', tone: 'warn', title: 'Blocked', detail: `Reason: ${reason ?? 'unknown'}`, at: null } as const]
    : []),
];

/** Returns that a delivery which was released or given up was blocked or held before, and why. */
const stopSteps = ({ released, expired }: Detail): readonly TrailStep[] => {
  const from = released?.from ?? expired?.from;
  if (!from) return [];
  const [icon, title] = from.outcome === 'held' ? (['circle-pause', 'Held'] as const) : (['ban', 'Blocked'] as const);
  return [{ icon, tone: 'warn', title, detail: `Reason: ${whyWords(from)}`, at: from.since }];
};

/** Returns that a delivery was given up because it was held too long. It belongs to no message. */
const endSteps = ({ expired }: Detail): readonly MessageStep[] =>
  expired ? [{ icon: 'skull', tone: 'dead', title: 'Given up, because it was held too long', at: expired.at, message: '' }] : [];

/** Says who caused an event. Of a delivery itself, this is its integration, which the page names elsewhere. */
const actorText = ({ actor: { kind, id } }: Event, integration_id: string): string => {
  if (kind !== 'system') return kind === 'agent' ? ' by an agent' : ` by a ${kind}`;
  return id === integration_id ? '' : ` by ${id}`;
};

const eventStep = (event: Event, { integration_id }: Detail, sessionText: (id: string) => Child): MessageStep => {
  const { event_id, type, at, position, session_id } = event;
  const [icon, title] = EVENTS[type] ?? (['database', 'Stored in the log'] as const);
  const detail = span(
    null,
    ...['Event ', shortId(event_id, 'the event id'), ' at position ', code(null, position), actorText(event, integration_id)],
    session_id === null ? null : sessionText(session_id),
  );
  return { icon, tone: 'good', title, detail, at, position, message: event_id };
};

const commitOf = ({ position }: Event): bigint => BigInt(position.split(':')[0]!);

/** Whether a step is known to be at the same time as another one, or earlier. */
const isNotAfter = (one: TrailStep, other: TrailStep): boolean => one.at !== null && other.at !== null && one.at <= other.at;

/**
 * Inserts steps that are no events of the delivery into its events, which stay in the order of the log. Each follows the
 * event of its message, and all steps that are not later.
 */
const insertInOrder = (events: readonly MessageStep[], others: readonly MessageStep[]): readonly MessageStep[] => {
  const ordered = [...events];
  for (const step of others) {
    let index = ordered.findLastIndex(({ message }) => message === step.message) + 1;
    while (index < ordered.length && isNotAfter(ordered[index]!, step)) index++;
    ordered.splice(index, 0, step);
  }
  return ordered;
};

/** Returns the publication of the last message, and all attempts to hand messages to runners. */
const runnerSteps = ({ causation, published_at, attempts }: Detail): readonly MessageStep[] => {
  const last = causation.findLast(({ session_id }) => session_id === null)?.event_id ?? '';
  const published = { icon: 'send', tone: 'good', title: 'Published for the runner', at: published_at, message: last } as const;
  const tried = attempts.map((attempt): MessageStep => {
    const { event_id, outcome, at } = attempt;
    const [icon, tone, title] = ATTEMPTS[outcome];
    return { icon, tone, title, detail: attemptText(attempt), at, message: event_id };
  });
  return published_at === null ? tried : [published, ...tried];
};

const WAITS: Readonly<Record<string, Pick<TrailStep, 'icon' | 'tone' | 'title'>>> = {
  waiting: { icon: 'clock', tone: 'busy', title: 'Waits to be published' },
  queued: { icon: 'clock', tone: 'busy', title: 'Waits for a runner' },
  running: { icon: 'circle-dot', tone: 'busy', title: 'A runner has it' },
  held: { icon: 'circle-pause', tone: 'warn', title: 'Held' },
};

const waitStep = ({ status, held }: Detail): readonly TrailStep[] => {
  const wait = status === null ? undefined : WAITS[status];
  return wait ? [{ ...wait, ...(held && { detail: heldText(held) }), at: null }] : [];
};

/**
 * Returns the steps in the processing of a delivery: its receipt, its signature, the verdicts about it, and then what
 * happened to its messages, in the order of the log. `sessionText` renders what is known about a session.
 */
export const stepsOf = (delivery: Detail, sessionText: (id: string) => Child): readonly TrailStep[] => {
  const { size_bytes, received_at, outcome, causation } = delivery;
  const received = { icon: 'webhook', tone: 'calm', title: 'Received', detail: counted(size_bytes, 'byte'), at: received_at } as const;
  if (outcome === 'rejected') return [received, signatureStep(delivery)];
  const events = causation
    .toSorted((one, other) => (commitOf(one) < commitOf(other) ? -1 : 1))
    .map((event) => eventStep(event, delivery, sessionText));
  return [
    received,
    signatureStep(delivery),
    ...verdictSteps(delivery),
    ...stopSteps(delivery),
    ...insertInOrder(events, [...endSteps(delivery), ...runnerSteps(delivery)]),
    ...waitStep(delivery),
  ];
};
