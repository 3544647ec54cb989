import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { deliveryLine, listDeliveries } from '../../infra/cli/deliveries/list-deliveries.ts';

type Listed = Parameters<typeof deliveryLine>[0];

const AT = '2026-11-27T17:00:00.000Z';
const FAILURE = { attempt: 2, outcome: 'timed_out', code: null, reason: 'too slow', at: AT } as const;
const listed = (fields: object): Listed =>
  ({
    id: 'cd',
    received_at: AT,
    provider: 'github',
    event: 'push',
    outcome: 'accepted',
    status: 'running',
    last_failure: null,
    ...fields,
  }) as Listed;

const UNTIL = new Date(Date.now() + 3_600_000).toISOString();
const HELD = { reason: 'budget', rule: null, note: null, until: UNTIL, since: null };

test('the line of a delivery says why it failed or waits; it mentions a missing report only if one is missing', () => {
  for (const [fields, isFailed, end] of [
    [{ last_failure: FAILURE }, true, 'running  attempt 2 timed out: too slow'],
    [
      { last_failure: { ...FAILURE, outcome: 'crashed', code: 'SIGKILL', reason: null } },
      true,
      'running  attempt 2 crashed (SIGKILL): the reason cannot be read',
    ],
    [{}, true, 'running  no report'],
    [{}, false, 'running'],
    [{ status: 'held', held: HELD }, false, `held (the hourly budget is used up, until ${UNTIL})`],
    [{ status: 'held', held: { ...HELD, until: '2026-03-14T10:00:00.000Z' } }, false, 'held (the hourly budget is used up)'],
    [{ status: 'held', held: { ...HELD, until: null } }, false, 'held (the hourly budget is used up)'],
    [{ outcome: 'dead', status: 'dead' }, false, 'dead  no report'],
    [{ status: 'done', last_failure: FAILURE }, false, 'done'],
  ] as const)
    assert.is(deliveryLine(listed(fields), isFailed), `${AT}  cd  github.push  ${end}`);
  assert.is(
    deliveryLine(listed({ provider: null, event: null, outcome: 'rejected', status: null }), false),
    `${AT}  cd  unverified  rejected`,
  );
});

test('annals deliveries list names the option that is wrong', async () => {
  const failing = async (options: object): Promise<string> =>
    listDeliveries({ url: 'http://127.0.0.1:9', key: 'k' }, { failed: false, limit: '50', ...options }).then(
      () => '',
      (error: Error) => error.message,
    );
  for (const limit of ['0', '201', 'x']) assert.match(await failing({ limit }), /--limit must be a number from 1 to 200/);
  assert.match(await failing({ tenant: 'x' }), /--tenant must be a tenant id/);
});

test.run();
