import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createSkillPlatform } from '../fixtures/skill-platform.ts';

type Json = Record<string, unknown>;

const { p, succeed, expose, call, invocationsOf } = await createSkillPlatform();

test('a call beyond a rate that holds calls is answered like others, waits, and is listed as an invocation', async () => {
  await succeed('PUT', `${p.tenant}/guardrails`, [{ name: 'busy', kind: 'rate', options: { max: 1, per_seconds: 3_600 }, action: 'hold' }]);
  const exposed = await expose();
  const answers = [await call(exposed.hook, exposed.token, '{"a":1}'), await call(exposed.hook, exposed.token, '{"a":2}')];
  await succeed('PUT', `${p.tenant}/guardrails`, []);
  assert.equal(
    answers.map(({ status, body }) => [status, (body as Json).outcome]),
    [
      [202, 'accepted'],
      [202, 'accepted'],
    ],
  );
  const { id } = answers[1]!.body as { id: string };
  assert.equal(
    p.eventsOf('SkillWebhookHeld').map((event) => event.id),
    [id],
  );
  await p.waitForProjections();
  assert.is(((await p.send('GET', `${p.tenant}/deliveries/${id}`)).body as Json).status, 'held');
  assert.equal(
    (await invocationsOf(exposed)).map(({ outcome }) => outcome),
    ['accepted', 'accepted'],
  );
});

afterLastTest(() => p.close());

test.run();
