// share, limit: 180
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { HOSTILE_TEXTS, unescapedIn } from '../fixtures/hostile-texts.ts';
import { openShare } from '../fixtures/share.ts';
import { attackOperations, attackWebhook } from './hostile-tenant.ts';
import { startWholeConsole } from './whole-console.ts';

const share = openShare();
const { p, of, pages, states, forms, close } = await startWholeConsole();
afterLastTest(close);

const textsFor = (operation: string) => share.casesOf(HOSTILE_TEXTS, (text) => `${operation} ${text}`);

/**
 * Operations that accept none of the generated requests: they need a right of a runner, a deployment or a finished
 * rebuild, which the tenant of this test does not have, or they have too many fields that depend on each other.
 */
const NEVER_ACCEPTED = ['authorSkill', 'promoteRebuild', 'replayTenantDeliveries', 'sendMail', 'tryGuardrails'];

share.test('every operation that takes free texts stores or refuses hostile texts; none fails', async () => {
  const attacks = await attackOperations(p, of, textsFor);
  await attackWebhook(p, of.hook, textsFor('receiveWebhook'));
  await p.waitForProjections();
  assert.ok(attacks.length > 40, `${attacks.length} operations`);
  const never = attacks.filter(({ operation, accepted }) => accepted === 0 && !NEVER_ACCEPTED.includes(operation));
  // A few texts for each operation can all be refused. Then at least most operations must have accepted one.
  if (share.isWhole) assert.equal(never, []);
  assert.ok(never.length < attacks.length / 2, `${never.length} of ${attacks.length} operations accepted no text`);
  assert.equal(p.unappliedEvents(), []);
});

share.test('no page and no form shows a hostile text as anything but text', async () => {
  const found: string[] = [];
  for (const { name, url } of [...pages, ...states, ...forms]) {
    let answer = await p.open(url);
    while (answer.status === 303) answer = await p.open(answer.headers.get('location')!);
    if (answer.status !== 200) found.push(`${name}: status ${answer.status} ${url}`);
    found.push(...unescapedIn(answer.text).map((part) => `${name}: ${part}`));
  }
  assert.equal(found, []);
});

test.run();
