import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createReportingRunner } from '../fixtures/reporting-runner.ts';

type Json = Record<string, unknown>;

const given = await createReportingRunner();
const { sendDelivery, report, settle } = given;

test('dead deliveries whose reasons differ only in numbers and ids are one problem, whose filters select them', async () => {
  const reasons = ['order 4711 at shop-7f3a: 502', 'order 12 at shop-9b1c: 502', 'no such model'];
  const ids = await Promise.all(reasons.map(() => sendDelivery()));
  for (const [index, id] of ids.entries()) await report(id, { reason: reasons[index]! });
  for (const id of ids) await settle(id, 'DeliveryDeadLettered');
  await given.waitForProjections();
  const problems = JSON.parse((await given.call('GET', 'deliveries/problems')).text) as Json[];
  const alike = problems.find(({ example_id }) => example_id === ids[0] || example_id === ids[1])!;
  assert.equal([alike.count, alike.outcome, alike.agent_name], [2, 'dead', 'Reviewer']);
  const query = `state=dead&problem=${alike.problem}&agent_id=${alike.agent_id}`;
  const found = JSON.parse((await given.call('GET', `deliveries?${query}`)).text) as Json[];
  assert.equal(new Set(found.map(({ id }) => id)), new Set(ids.slice(0, 2)));
  const { outcomes } = JSON.parse((await given.call('GET', `deliveries/summary?${query}`)).text) as { outcomes: Json };
  assert.is(outcomes.dead, 2);
});

afterLastTest(given.close);

test.run();
