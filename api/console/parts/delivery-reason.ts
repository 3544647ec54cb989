import type { Rows } from '../../areas.ts';
import { whyWords } from '../../deliveries/held-words.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { curlScheme } from '../../integrations/curl-scheme.ts';
import { logTail } from './attempts-table.ts';
import { counted } from './count-text.ts';
import { type Attempt, type DeliveryDetail, lastMessageOf, shownStatus } from './delivery-messages.ts';
import { heldText } from './held-text.ts';
import { queueCounts } from './queue-text.ts';
import type { Reason } from './reason-card.ts';
import { reasonWords } from './reason-words.ts';
import { setupSteps } from './setup-steps.ts';
import { type Child, tags } from './tags.ts';
import { ago } from './time.ts';

const { a, details, dl, dt, dd, div, em, p, span, summary } = tags;

/** What the page of a delivery knows besides the delivery, to say why it is in its state. Each is null if it is not known. */
export type ReasonContext = {
  readonly integration: ReplyOf<Rows['getWebhookIntegration']> | null;
  readonly presence: ReplyOf<Rows['getRunnerPresence']> | null;
  /** The name of the agent whose runner gets the delivery. */
  readonly agent: string;
  /** The pages of the agent's runner, of the guardrails, and of the deliveries that ended in the same way. */
  readonly paths: { readonly runner: string; readonly rules: string; readonly others: string };
  /** How many other deliveries ended in the same way. */
  readonly others: number | null;
};

/** Returns the last attempt of the last message that failed with a report. */
export const failedAttemptOf = (delivery: DeliveryDetail): Attempt | null =>
  lastMessageOf(delivery)?.attempts.findLast(({ report }) => report !== null) ?? null;

const othersText = ({ others, paths }: ReasonContext): Child =>
  others ? a({ href: paths.others, 'data-others': String(others) }, `${counted(others, 'other')} ended like this`) : null;

const without = (...children: readonly Child[]): readonly Child[] => children.filter((child) => child !== null);

/** Says why an attempt failed, in the words of its runner. */
const attemptWords = (attempt: Attempt | null): Child =>
  attempt?.report ? (attempt.report.reason ?? 'The reason cannot be read') : 'The runner has not reported why';

const failureFacts = (attempt: Attempt | null): readonly Child[] => [
  ...(attempt?.report?.code ? [`code ${attempt.report.code}`] : []),
  ...(attempt?.report?.outcome === 'timed_out' ? ['timed out'] : []),
  ...(attempt?.report?.outcome === 'crashed' ? ['crashed'] : []),
];

const lastLog = (attempt: Attempt | null): Child => (attempt?.report?.stderr_tail ? logTail(attempt.report.stderr_tail) : null);

const deadReason = (delivery: DeliveryDetail, context: ReasonContext): Reason => {
  const { expired, reason } = delivery;
  if (expired)
    return {
      tone: 'dead',
      icon: 'skull',
      title: 'It was held too long',
      facts: [whyWords(expired.from)],
      below: without(othersText(context)),
    };
  const attempt = failedAttemptOf(delivery);
  const count = lastMessageOf(delivery)?.attempts.length ?? 0;
  const ended =
    reason === 'terminated' ? `given up by the runner after ${counted(count, 'attempt')}` : `${counted(count, 'attempt')} failed`;
  return {
    tone: 'dead',
    icon: 'skull',
    title: attemptWords(attempt),
    facts: [...failureFacts(attempt), ended],
    below: without(lastLog(attempt), othersText(context)),
  };
};

const blockedReason = (delivery: DeliveryDetail, context: ReasonContext): Reason => {
  const { reason, guardrails } = delivery;
  const verdict = guardrails.findLast((one) => one.verdict === 'block');
  const { paths, agent, integration } = context;
  const title: Child =
    reason === 'agent_inactive'
      ? `${agent} was paused`
      : reason === 'paused'
        ? `The integration ${integration?.label ?? ''} was paused`
        : span(null, 'Blocked by ', a({ href: paths.rules }, em(null, verdict?.rule.replaceAll('_', ' ') ?? String(reason))));
  return { tone: 'warn', icon: 'ban', title, facts: verdict?.note ? [verdict.note] : [], below: without(othersText(context)) };
};

const expectedText = ({ reason }: DeliveryDetail, { integration }: ReasonContext): Child => {
  if (!integration || !/^signature_|^timestamp_/.test(reason ?? '')) return null;
  const header = curlScheme(integration.provider, integration)?.signature.header;
  return `A signature with the secret of ${integration.label}${header ? ` in the header ${header}` : ''}`;
};

const rejectedReason = (delivery: DeliveryDetail, context: ReasonContext): Reason => {
  const { reason, reason_note } = delivery;
  const expected = expectedText(delivery, context);
  const pairs = [
    ['Expected', expected],
    ['Got', reason_note],
  ] as const;
  const shown = pairs.filter(([, value]) => value !== null);
  return {
    tone: 'bad',
    icon: 'shield-x',
    title: reasonWords(reason ?? 'rejected'),
    facts: ['no body was stored'],
    below: without(
      shown.length === 0 ? null : dl({ class: 'pairs' }, ...shown.map(([name, value]) => div(null, dt(null, name), dd(null, value)))),
      context.integration ? details(null, summary(null, 'How to connect the sender'), setupSteps(context.integration.provider)) : null,
      othersText(context),
    ),
  };
};

/** Says whether a runner is connected that can take a waiting delivery, and how many wait. */
const queueText = ({ presence, agent, paths }: ReasonContext): Child => {
  if (!presence) return null;
  const counts = `Deliveries of ${agent}: ${queueCounts(presence)}`;
  const runner = presence.connected_since
    ? span(null, 'A runner is connected, since ', ago(presence.connected_since))
    : span(null, a({ href: paths.runner }, 'Connect a runner'), ', last seen ', ago(presence.last_seen_at));
  return p({ class: 'quiet' }, counts, '. ', runner, '.');
};

/** Says when a delivery is tried again. */
const nextText = ({ status, next_attempt_at }: DeliveryDetail): Child => {
  if (next_attempt_at === null)
    return status === 'running' ? 'the next attempt is due, or a runner makes it now' : 'it will be tried again';
  return span(null, 'next attempt ', ago(next_attempt_at));
};

const waitingReason = (delivery: DeliveryDetail, context: ReasonContext): Reason | null => {
  const { held } = delivery;
  const status = shownStatus(delivery);
  const { presence, agent } = context;
  const attempt = failedAttemptOf(delivery);
  const queue = queueText(context);
  if (held) return { tone: 'warn', icon: 'circle-pause', title: span(null, 'Held: ', heldText(held)), below: without(queue) };
  if (status === 'waiting') return { tone: 'busy', icon: 'clock', title: 'It waits to be published', below: without(queue) };
  if (status !== 'queued' && status !== 'running') return null;
  if (attempt)
    return {
      tone: 'warn',
      icon: 'rotate-ccw',
      title: attemptWords(attempt),
      facts: [...failureFacts(attempt), nextText(delivery)],
      below: without(lastLog(attempt), queue),
    };
  if (status === 'running') return { tone: 'busy', icon: 'circle-dot', title: `A runner of ${agent} has it` };
  const title = presence && !presence.connected_since ? `No runner of ${agent} is connected` : `It waits for a runner of ${agent}`;
  return { tone: 'busy', icon: presence?.connected_since === null ? 'plug' : 'clock', title, below: without(queue) };
};

/** Says why a delivery is in its state; null if nothing is to be said, because it was processed. */
export const deliveryReason = (delivery: DeliveryDetail, context: ReasonContext): Reason | null => {
  if (delivery.outcome === 'dead') return deadReason(delivery, context);
  if (delivery.outcome === 'blocked') return blockedReason(delivery, context);
  if (delivery.outcome === 'rejected') return rejectedReason(delivery, context);
  return waitingReason(delivery, context);
};
