import { whyWords } from '../../deliveries/held-words.ts';
import { counted } from './count-text.ts';
import {
  type DeliveryDetail,
  isPublished,
  isSent,
  lastMessageOf,
  type Message,
  messagesOf,
  messageWords,
  shownStatus,
} from './delivery-messages.ts';
import { heldText } from './held-text.ts';
import { tags } from './tags.ts';
import type { TrailStep } from './trail.ts';

const { a, details, li, span, summary, ul } = tags;

const VERDICTS = {
  block: ['ban', 'warn', 'blocked it'],
  hold: ['circle-pause', 'warn', 'held it'],
  redact: ['fingerprint', 'calm', 'redacted parts'],
  label: ['info', 'calm', 'labelled it'],
} as const;

const signatureStep = ({ received_at, matched_secret, provider }: DeliveryDetail): TrailStep => {
  if (matched_secret === null)
    return { icon: 'shield-check', tone: 'calm', title: `From ${provider ?? 'an unknown sender'}, without a signature`, at: received_at };
  const tone = matched_secret === 'previous' ? 'warn' : 'good';
  return { icon: 'shield-check', tone, title: 'Signature verified', detail: `${matched_secret} secret`, at: received_at };
};

const wordsOf = (rule: string): string => rule.replaceAll('_', ' ');

/** Returns one step for all guardrails that passed, and one for each that blocked, held, redacted or labelled. */
const verdictSteps = ({ guardrails, redactions, released }: DeliveryDetail, rulesPath: string): readonly TrailStep[] => {
  const all = [...guardrails, ...(released?.guardrails ?? [])];
  const passed = all.filter(({ verdict }) => verdict === 'pass');
  const others = all.flatMap(({ rule, verdict, note }): TrailStep[] => {
    if (verdict === 'pass') return [];
    const [icon, tone, words] = VERDICTS[verdict];
    return [{ icon, tone, title: span(null, a({ href: rulesPath }, wordsOf(rule)), ` ${words}`), detail: note, at: null }];
  });
  const folded = details(
    null,
    summary(null, `${counted(passed.length, 'guardrail')} passed`),
    ul({ class: 'quiet' }, ...passed.map(({ rule }) => li(null, wordsOf(rule)))),
  );
  return [
    ...(passed.length > 0 ? [{ icon: 'shield-check', tone: 'good', title: folded, at: null } as const] : []),
    ...others,
    ...(redactions > 0 ? [{ icon: 'fingerprint', tone: 'calm', title: `${counted(redactions, 'part')} redacted`, at: null } as const] : []),
  ];
};

const ENDS = {
  acknowledged: ['check-check', 'good', 'acknowledged'],
  failed: ['circle-x', 'warn', 'refused by the runner'],
  expired: ['timer', 'warn', 'without an answer'],
  max_deliveries: ['skull', 'dead', 'then given up'],
  terminated: ['skull', 'dead', 'given up by the runner'],
} as const;

/** Returns the start of a message, unless it is the first, its publication, and how its attempts ended. */
const messageSteps = (delivery: DeliveryDetail, message: Message): readonly TrailStep[] => {
  const { step, attempts } = message;
  const { type, at, position, published_at } = step;
  const isFirst = type !== 'DeliveryRequeued' && type !== 'DeliveryReleased';
  const last = attempts.at(-1);
  const [icon, tone, words] = last ? ENDS[last.outcome] : ENDS.expired;
  const started = isFirst
    ? ({ icon: 'database', tone: 'good', title: 'Stored' } as const)
    : ({ icon: 'rotate-ccw', tone: 'good', title: messageWords(step, delivery) } as const);
  return [
    { ...started, at, position },
    ...(isSent(step) && isPublished(message) ? [{ icon: 'send', tone: 'good', title: 'Published', at: published_at } as const] : []),
    ...(last ? [{ icon, tone, title: counted(attempts.length, 'attempt'), detail: words, at: last.at }] : []),
  ];
};

/** Returns the step that says why a delivery which was released or given up was blocked or held before. */
const stopSteps = ({ released, expired }: DeliveryDetail): readonly TrailStep[] => {
  const from = released?.from ?? expired?.from;
  if (!from) return [];
  const [icon, title] = from.outcome === 'held' ? (['circle-pause', 'Was held'] as const) : (['ban', 'Was blocked'] as const);
  return [{ icon, tone: 'warn', title, detail: whyWords(from), at: from.since }];
};

const WAITS: Readonly<Record<string, Pick<TrailStep, 'icon' | 'tone' | 'title'>>> = {
  waiting: { icon: 'clock', tone: 'busy', title: 'Waits to be published' },
  queued: { icon: 'clock', tone: 'busy', title: 'Waits for a runner' },
  again: { icon: 'rotate-ccw', tone: 'busy', title: 'Is tried again later' },
  running: { icon: 'circle-dot', tone: 'busy', title: 'A runner has it' },
  held: { icon: 'circle-pause', tone: 'warn', title: 'Held' },
};

const endSteps = (delivery: DeliveryDetail): readonly TrailStep[] => {
  const { held, expired, outcome, reason } = delivery;
  const status = shownStatus(delivery);
  if (outcome === 'blocked') return [{ icon: 'ban', tone: 'warn', title: 'Blocked', detail: wordsOf(reason ?? ''), at: null }];
  if (expired) return [{ icon: 'skull', tone: 'dead', title: 'Given up, because it was held too long', at: expired.at }];
  const isTried = (lastMessageOf(delivery)?.attempts.length ?? 0) > 0;
  const wait = status === null ? undefined : WAITS[status === 'queued' && isTried ? 'again' : status];
  return wait ? [{ ...wait, ...(held && { detail: heldText(held) }), at: null }] : [];
};

/**
 * Returns the steps in the processing of a delivery: its receipt, its signature, the verdicts about it, and then what
 * became of its messages, in the order of the log. `rulesPath` is the page of the guardrails.
 */
export const wayOf = (delivery: DeliveryDetail, rulesPath: string): readonly TrailStep[] => {
  const { size_bytes, received_at, outcome } = delivery;
  const received = { icon: 'webhook', tone: 'calm', title: 'Received', detail: counted(size_bytes, 'byte'), at: received_at } as const;
  if (outcome === 'rejected')
    return [received, { icon: 'shield-x', tone: 'bad', title: 'Rejected', detail: 'no body was stored', at: received_at }];
  return [
    received,
    signatureStep(delivery),
    ...verdictSteps(delivery, rulesPath),
    ...stopSteps(delivery),
    ...messagesOf(delivery).flatMap((message) => messageSteps(delivery, message)),
    ...endSteps(delivery),
  ];
};
