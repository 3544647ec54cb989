import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { root } from '../fixtures/child-process.ts';
import { DECISION_CASES } from '../fixtures/decision-cases.ts';

const seed = Number(process.env.TEST_SEED ?? Date.now() % 2 ** 31);

/**
 * The decisions that append another event if the same call is repeated, each with the reason why this is acceptable.
 */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'agents/agent.ts create': 'gets no state: the command calls it only for a slug that no agent has',
  'agents/agent-clone.ts clone': 'gets no state: the command calls it only for a slug that no agent has',
  'agents/agent.ts releaseSlug': 'gets no state: the command calls it only for a deleted agent whose slug is not released',
  'billing/billing-record.ts openPortal': 'each opening of the billing portal is recorded',
  'billing/seller.ts startOnboarding': 'each link to the onboarding is recorded',
  'billing/budget-hour.ts recordRefusal': 'each refused reservation is recorded, up to a number per hour',
  'billing/budget-hour.ts refuseSession': 'each refused session is recorded, up to a number per hour',
  'credentials/linked-identity.ts link': 'each time an account is connected, it has other tokens',
  'identity/sign-in.ts recordUse': 'has an effect only an hour after the sign-in: see direct-sign-in.api.test.ts',
  'identity/sign-in-link.ts use': 'refuses every second use',
  'operations/projection-maintenance.ts retry': 'each retry of an operator is recorded',
  'runners/acknowledgement.ts settleMessage': 'is called only for messages that the log does not show as settled',
  'sessions/session.ts start': 'gets no state: the command calls it only with a new id',
  'sessions/sent-event.ts assign': 'each call starts a session with an id of its own',
  'sessions/sent-event.ts sendMessage': 'each call sends a message',
  'sessions/decide-approval.ts requestApproval': 'each call appends a message',
  'sessions/session.ts appendMessage': 'each call appends a message',
  'sessions/session.ts addAttachment': 'each call adds a file',
  'skills/agent-skills.ts replaceConfig': 'gets another ciphertext each time: the command compares the plain texts',
  'tenants/invitation.ts issue': 'each invitation has its own token, which replaces the earlier one',
  'tenants/tenant.ts openToSuperAdmin': 'each opening of a tenant by a super-admin is recorded, with its reason',
  'deliveries/delivery.ts requeue': 'each call sends the delivery to the runner once more',
  'deliveries/release.ts release': 'refuses every second release',
  'integrations/integration.ts rotateSecret': 'each rotation has its own secret',
  'skill-calls/skill-webhook.ts rotateToken': 'each rotation has its own token',
};

/** Matches each exported function in domain/ that returns a list of events. */
const DECISION = /^export const (\w+) =(?:(?!^export |^const |^type |^\/\*\*)[\s\S])*?\): (?:readonly )?\w*Event\[\] =>/gm;

const decisions = globSync('domain/**/*.ts', { cwd: root }).flatMap((file) => {
  const path = file.replaceAll('\\', '/').replace(/^domain\//, '');
  return [...readFileSync(join(root, file), 'utf8').matchAll(DECISION)].map(([, name]) => `${path} ${name}`);
});

test('every decision in domain/ is tested here or is listed as an exception', () => {
  const listed = [...DECISION_CASES.flatMap(({ names }) => names), ...Object.keys(EXCEPTIONS)];
  assert.equal([...new Set(listed)].sort(), decisions.sort());
});

test(`after any sequence of decisions, making the last decision again appends no event (seed ${seed})`, () => {
  const effects = new Map<string, number>();
  // With a single seed, a decision without any effect happens in about one of a hundred runs.
  for (const each of [seed, seed + 1]) for (const { check } of DECISION_CASES) check(each, effects);
  const without = DECISION_CASES.flatMap(({ names }) => names).filter((name) => !effects.has(name));
  assert.equal(without, [], 'each of these decisions had an effect at least once');
});

test.run();
