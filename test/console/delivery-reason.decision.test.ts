import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { attemptsTable } from '../../api/console/parts/attempts-table.ts';
import { type Attempt, type DeliveryDetail, messagesOf, type Step } from '../../api/console/parts/delivery-messages.ts';
import { deliveryReason, failedAttemptOf } from '../../api/console/parts/delivery-reason.ts';
import { wayOf } from '../../api/console/parts/delivery-way.ts';
import { reasonCard } from '../../api/console/parts/reason-card.ts';
import { htmlOf } from '../../api/console/parts/tags.ts';
import { trailOf } from '../../api/console/parts/trail.ts';

const AT = '2026-11-28T07:00:00.000Z';
const REPORT = { outcome: 'failed', code: '1', reason: 'the old reason', stderr_tail: null, seconds: 1, at: AT } as const;

const step = (number: number, type: string, published_at: string | null): Step =>
  ({
    event_id: `message-${number}`,
    type,
    at: AT,
    position: `${number}:${number}`,
    published_at,
    session_id: null,
    cause: null,
    agent_id: 'agent',
    actor: { kind: 'system' },
  }) as never;

const attempt = (number: number, outcome: Attempt['outcome'], report: Attempt['report'], count = 1): Attempt =>
  ({ event_id: `message-${number}`, count, outcome, at: AT, report }) as never;

/** A delivery whose first message was given up with a report, and that was then sent again. */
const sentAgain = (fields: Partial<DeliveryDetail>, published_at: string | null, attempts: readonly Attempt[]): DeliveryDetail =>
  ({
    status: 'queued',
    outcome: 'accepted',
    reason: null,
    held: null,
    next_attempt_at: null,
    expired: null,
    released: null,
    guardrails: [],
    redactions: 0,
    size_bytes: 2,
    received_at: AT,
    matched_secret: 'current',
    provider: 'github',
    causation: [step(1, 'WebhookAccepted', AT), step(2, 'DeliveryRequeued', published_at)],
    attempts: [attempt(1, 'terminated', REPORT), ...attempts],
    ...fields,
  }) as never;

const CONTEXT = {
  integration: null,
  presence: null,
  agent: 'Reviewer',
  paths: { runner: '/runner', rules: '/rules', others: '/others' },
  others: null,
};
const LINKS = { agentText: () => null, sessionText: () => null, isLogShown: () => false };

const reasonText = (delivery: DeliveryDetail): string => htmlOf(reasonCard(deliveryReason(delivery, CONTEXT)!), '');
const tableOf = (delivery: DeliveryDetail): string => htmlOf(attemptsTable(delivery, messagesOf(delivery), LINKS), '');

const dead = { status: 'dead', outcome: 'dead', reason: 'max_deliveries' } as const;
const OWN = { ...REPORT, reason: 'its own reason' };
const REASONS: readonly (readonly [what: string, delivery: DeliveryDetail, says: RegExp])[] = [
  ['queued', sentAgain({}, AT, []), /It waits for a runner of Reviewer/],
  ['running', sentAgain({ status: 'running' }, AT, []), /A runner of Reviewer has it/],
  ['failed once', sentAgain({}, AT, [attempt(2, 'failed', OWN)]), /its own reason[\s\S]+it will be tried again/],
  ['dead without a report', sentAgain(dead, AT, [attempt(2, 'max_deliveries', null)]), /has not reported why[\s\S]+1 attempt failed/],
  ['dead with a report', sentAgain(dead, AT, [attempt(2, 'max_deliveries', OWN)]), /its own reason/],
];

test('the reason of a delivery that was sent again is that of its last message, never of an earlier one', () => {
  for (const [what, delivery, says] of REASONS) {
    assert.match(reasonText(delivery), says, what);
    assert.not.match(reasonText(delivery), 'the old reason', what);
    assert.is.not(failedAttemptOf(delivery)?.event_id, 'message-1', what);
  }
});

test('a message with an attempt counts as published, although its publication is not recorded yet', () => {
  const tried = sentAgain({ status: 'waiting' }, null, [attempt(2, 'failed', OWN)]);
  assert.not.match(tableOf(tried), 'not published yet');
  assert.match(reasonText(tried), /it will be tried again/);
  assert.not.match(htmlOf(trailOf(wayOf(tried, '/rules')), ''), 'Waits to be published');
  const untried = sentAgain({ status: 'waiting' }, null, []);
  assert.match(tableOf(untried), 'not published yet');
  assert.match(reasonText(untried), 'It waits to be published');
  assert.match(htmlOf(trailOf(wayOf(untried, '/rules')), ''), 'Waits to be published');
});

test('a delivery that waits for its next attempt does not wait for a runner; its queue is counted as on its agent', () => {
  const presence = { connected_since: AT, last_seen_at: AT, waiting: 0, running: 4, oldest_waiting_at: null, held: null };
  const tried = sentAgain({}, AT, [attempt(2, 'failed', OWN)]);
  const way = htmlOf(trailOf(wayOf(tried, '/rules')), '');
  assert.match(way, 'Is tried again later');
  assert.not.match(way, 'Waits for a runner');
  assert.match(htmlOf(trailOf(wayOf(sentAgain({}, AT, []), '/rules')), ''), 'Waits for a runner');
  const reason = htmlOf(reasonCard(deliveryReason(tried, { ...CONTEXT, presence } as never)!), '');
  assert.match(reason, 'Deliveries of Reviewer: 0 waiting, 4 taken by a runner or tried again later');
});

test('an attempt before the ten kept reports says that its report is no longer kept; others say no report', () => {
  const attempts = (reports: number) => Array.from({ length: reports }, (_, index) => attempt(2, 'failed', OWN, index + 1));
  const tableWith = (reports: number): string => {
    const delivery = sentAgain({}, AT, [...attempts(reports), attempt(2, 'failed', null, reports + 1)]);
    return tableOf({ ...delivery, attempts: [attempt(1, 'failed', null), ...delivery.attempts.slice(1)] });
  };
  assert.equal(tableWith(10).match(/no report|report no longer kept/g), ['no report', 'report no longer kept']);
  assert.equal(tableWith(9).match(/no report|report no longer kept/g), ['no report', 'no report']);
});

test.run();
