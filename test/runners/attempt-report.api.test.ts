import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { bearer, createReportingRunner, REPORT, type ReportedAttempt } from '../fixtures/reporting-runner.ts';

type Json = Record<string, unknown>;

const CANARY = 'canary-5e1d';
const TOO_SLOW = 'the redaction patterns of the tenant are too slow for the reason';
const given = await createReportingRunner();
afterLastTest(given.close);
const { sendDelivery: deliver, report, detailOf, reportsOf, settle, redeliver, firstMessageOf, otherAgent, otherKey } = given;

test('a report of a runner is shown with its attempt, before the broker reports the attempt', async () => {
  const id = await deliver();
  assert.is((await report(id)).status, 204);
  const { attempts, last_failure } = await detailOf(id);
  const [{ report: shown, ...attempt }] = attempts as [ReportedAttempt];
  assert.equal([attempt.count, attempt.outcome], [1, 'failed']);
  const { at, ...fields } = shown!;
  assert.equal(fields, { outcome: 'failed', code: '1', reason: REPORT.reason, stderr_tail: 'Error: no\n', seconds: 1.23 });
  assert.equal(last_failure, { attempt: 1, outcome: 'failed', code: '1', reason: REPORT.reason, at });
});

test('a second report of the same attempt changes nothing, even in another process of the platform', async () => {
  const id = await deliver();
  for (const fields of [{}, { reason: 'another reason' }]) assert.is((await report(id, fields)).status, 204);
  const both = await Promise.all([report(id, { attempt: 2 }), report(id, { attempt: 2 })]);
  assert.equal(
    both.map(({ status }) => status),
    [204, 204],
  );
  const other = await given.startSecondProcess(given.log);
  const again = await other.request(`${given.tenant}/deliveries/${id}/attempts`, {
    method: 'POST',
    headers: { ...bearer(given.runnerKey), 'content-type': 'application/json' },
    body: JSON.stringify({ ...REPORT, attempt: 2 }),
  });
  await other.close();
  assert.is(again.status, 204, again.text);
  assert.equal(
    reportsOf(id).map(({ attempt }) => attempt),
    [1, 2],
  );
  assert.is((await detailOf(id)).attempts[0]!.report!.reason, REPORT.reason);
});

test('reports that arrive at the same time become one event', async () => {
  const ids = await Promise.all([deliver(), deliver(), deliver()]);
  const before = given.ofType('DeliveryAttemptsReported').length;
  await Promise.all(ids.map((id) => report(id)));
  assert.is(given.ofType('DeliveryAttemptsReported').length, before + 1);
});

test('no event and no read model contains a reported text, and the patterns of the tenant redact it', async () => {
  const patterns = [{ pattern: 'customer \\d+', tag: 'customer' }];
  assert.is((await given.call('PUT', 'redaction-patterns', patterns)).status, 200);
  const id = await deliver();
  await report(id, { reason: `${CANARY} of customer 17`, stderr_tail: `${CANARY} in stderr of customer 18` });
  for (const event of given.log.events) assert.not.match(JSON.stringify([event.data, event.meta]), CANARY, event.type);
  const { attempts } = await detailOf(id);
  const { reason, stderr_tail } = attempts[0]!.report!;
  assert.equal([reason, stderr_tail], [`${CANARY} of [redacted:customer]`, `${CANARY} in stderr of [redacted:customer]`]);
  await given.call('PUT', 'redaction-patterns', []);
});

test('ten attempts with the usual texts take at most 3 kB in the log, and each shows its texts', async () => {
  const id = await deliver();
  const stack = (n: number) =>
    [
      `2026-11-27T17:0${n % 10}:12.345Z [worker ${1000 + n}] Error: connect ECONNREFUSED 10.0.0.7:5432`,
      '    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1637:16)',
      '    at async openDatabase (file:///srv/agent/src/database.ts:41:15)',
      '    at async main (file:///srv/agent/src/main.ts:12:3) {',
      "  errno: -111, code: 'ECONNREFUSED', syscall: 'connect', address: '10.0.0.7', port: 5432",
      '}',
      'Node.js v26.1.0',
    ].join('\n');
  for (let attempt = 1; attempt <= 10; attempt++) await report(id, { attempt, stderr_tail: stack(attempt) });
  const events = given.ofType('DeliveryAttemptsReported').filter(({ data }) => JSON.stringify(data).includes(id));
  const bytes = events.reduce((sum, { data, meta }) => sum + Buffer.byteLength(JSON.stringify(data) + JSON.stringify(meta)), 0);
  assert.is(events.length, 10);
  assert.ok(bytes <= 3_000, `${bytes} bytes`);
  const { attempts } = await detailOf(id);
  for (const { report: shown } of attempts) assert.match(shown!.stderr_tail as string, /ECONNREFUSED/);
});

test('only the last lines of a long text in stderr are stored, and the reason is stored completely', async () => {
  const id = await deliver();
  const lines = Array.from({ length: 60 }, (_, n) => `${n} ${crypto.randomUUID()}`);
  const reason = Array.from({ length: 50 }, () => crypto.randomUUID()).join(' ');
  await report(id, { stderr_tail: lines.join('\n') });
  await report(id, { attempt: 2, reason, stderr_tail: lines.join('\n') });
  const { attempts } = await detailOf(id);
  const tail = attempts[0]!.report!.stderr_tail as string;
  assert.ok(tail.startsWith('…') && lines.join('\n').endsWith(`\n${tail.slice(1)}`), tail);
  assert.ok(tail.length > 150, `${tail.length} characters`);
  assert.equal([attempts[1]!.report!.reason, attempts[1]!.report!.stderr_tail], [reason, null]);
});

test('a read of a delivery shows its last ten reports, from all its messages', async () => {
  const id = await deliver();
  for (let attempt = 1; attempt <= 10; attempt++) await report(id, { attempt });
  const message_id = await redeliver(id);
  const first = firstMessageOf(id);
  for (const attempt of [1, 2]) await report(id, { attempt, outcome: 'crashed', code: 'SIGKILL', message_id });
  await report(id, { message_id: first });
  const { attempts, last_failure } = await detailOf(id);
  const shown = attempts.filter((attempt) => attempt.report !== null);
  assert.equal(
    shown.map((attempt) => `${attempt.count} ${attempt.report!.outcome} ${attempt.report!.reason}`),
    [
      ...[3, 4, 5, 6, 7, 8, 9, 10].map((attempt) => `${attempt} failed ${REPORT.reason}`),
      ...[1, 2].map((attempt) => `${attempt} crashed ${REPORT.reason}`),
    ],
  );
  assert.equal([(last_failure as Json).attempt, (last_failure as Json).code], [2, 'SIGKILL']);
});

/** Returns the attempt and the reason of the last failure of a delivery: in the list, in its view, and among the problems. */
const lastFailuresOf = async (id: string): Promise<(string | null)[]> => {
  await given.waitForProjections();
  const [listed, problems] = await Promise.all(
    ['deliveries?limit=200', 'deliveries/problems'].map(async (path) => JSON.parse((await given.call('GET', path)).text) as Json[]),
  );
  const shown = [
    listed!.find((delivery) => delivery.id === id)!.last_failure,
    (await detailOf(id)).last_failure,
    problems!.find(({ example_id }) => example_id === id)?.example_failure,
  ] as (Json | null | undefined)[];
  return shown.map((failure) => failure && `${failure.attempt} ${failure.reason}`) as (string | null)[];
};

/** The order of reports: number of the attempt and reason; `redelivered` if it is of the second message. */
const ORDERS: readonly (readonly [sent: string, last: string])[] = [
  ['1 A, 2 B, 3 A', '3 A'],
  ['2 B, 1 A', '2 B'],
  ['2 B, 1 A, 3 B, 4 A', '4 A'],
  ['9 A, redelivered 1 B, 10 A', '1 B'],
  ['9 A, redelivered 1 A, 10 B, redelivered 2 A', '2 A'],
];

for (const [sent, last] of ORDERS)
  test(`the last failure is shown with its own reason after reports in the order ${sent}`, async () => {
    const id = await deliver();
    const first = firstMessageOf(id);
    let second: string | null = null;
    for (const one of sent.split(', ')) {
      const [reason, attempt, isSecond] = one.split(' ').reverse();
      if (isSecond) second ??= await redeliver(id);
      await report(id, { attempt: Number(attempt), reason, message_id: isSecond ? second : first });
    }
    if (second === null) await settle(id, 'DeliveryDeadLettered');
    assert.equal(await lastFailuresOf(id), [last, last, second === null ? last : undefined]);
  });

test('attempts that failed with different numbers in stderr are each shown with their own text', async () => {
  const id = await deliver();
  const tails = [429, 500, 429].map((status) => `Error: the model answers with status ${status}\n`);
  for (const [n, stderr_tail] of tails.entries()) await report(id, { attempt: n + 1, stderr_tail });
  assert.equal(
    (await detailOf(id)).attempts.map((attempt) => attempt.report!.stderr_tail),
    tails,
  );
});

/** Stores patterns without the check of their size, as a version before this check did. */
const storePatterns = async (count: number): Promise<void> => {
  const patterns = Array.from({ length: count }, (_, n) => ({ pattern: `[a-z]{1,450}${n}`, tag: 'customer' }));
  const stream = `redaction-${given.tenant_id}.${given.tenant_id}`;
  const last = await given.log.last(stream);
  const meta = { tenant: given.tenant_id, actor: { kind: 'system', id: 'test' } as const, at: new Date().toISOString(), v: 1 };
  const event = { id: crypto.randomUUID(), type: 'RedactionPatternsReplaced', data: { patterns }, meta };
  await given.log.append(stream, last?.revision ?? 'none', [event]);
};

for (const [name, count, sent, stored] of [
  ['stderr', 4, { stderr_tail: 'x'.repeat(4_000) }, [REPORT.reason, null]],
  ['the reason', 9, { reason: 'x'.repeat(2_000), stderr_tail: 'no\n' }, [TOO_SLOW, 'no\n']],
] as const)
  test(`with patterns that are too slow for ${name}, a report is stored without this text`, async () => {
    await storePatterns(count);
    const id = await deliver();
    const answer = await report(id, sent);
    await given.call('PUT', 'redaction-patterns', []);
    assert.is(answer.status, 204, answer.text);
    const { reason, stderr_tail } = (await detailOf(id)).attempts[0]!.report!;
    assert.equal([reason, stderr_tail], stored);
  });

test('a read of a delivery as of an earlier position shows the reports up to then', async () => {
  const id = await deliver();
  const answers = [await report(id), await report(id, { attempt: 2, outcome: 'timed_out', code: null })];
  const [first, second] = answers.map(({ headers }) => headers.get('consistency-token')!);
  const outcomes = async (token: string) =>
    (await detailOf(id, `?as_of=${token}`)).attempts.map((attempt) => [attempt.count, attempt.report!.outcome, attempt.report!.reason]);
  assert.equal(await outcomes(first!), [[1, 'failed', REPORT.reason]]);
  assert.equal(await outcomes(second!), [
    [1, 'failed', REPORT.reason],
    [2, 'timed_out', REPORT.reason],
  ]);
});

test('a read of a delivery as of an earlier position shows a report that the view has dropped for newer ones', async () => {
  const id = await deliver();
  const token = (await report(id)).headers.get('consistency-token')!;
  for (const message_id of [await redeliver(id), await redeliver(id)])
    await Promise.all(Array.from({ length: 10 }, (_, n) => report(id, { attempt: n + 1, message_id })));
  const { attempts } = await detailOf(id, `?as_of=${token}`);
  assert.equal(
    attempts.map((attempt) => attempt.report?.reason),
    [REPORT.reason],
  );
});

test('a read of a delivery as of an earlier position shows all reports, even if a process has a clock that is ahead', async () => {
  const [id, other] = [await deliver(), await deliver()];
  await report(id);
  const { now } = given.clock;
  given.clock.now = () => now() + 600_000;
  await report(other);
  given.clock.now = now;
  const token = (await report(id, { attempt: 2 })).headers.get('consistency-token')!;
  const { attempts } = await detailOf(id, `?as_of=${token}`);
  assert.equal(
    attempts.map((attempt) => attempt.report?.reason),
    [REPORT.reason, REPORT.reason],
  );
});

test('only the runner of the agent to which the delivery was sent may report', async () => {
  const id = await deliver();
  const unknown = `c${'z'.repeat(24)}`;
  assert.is((await report(id, {}, otherKey)).status, 404);
  assert.is((await report(unknown)).status, 404);
  assert.is((await report(id, {}, given.key)).status, 403);
  const message_id = await redeliver(id, { agent_id: otherAgent });
  assert.is((await report(id, { message_id }, otherKey)).status, 204);
  assert.is((await report(id, {}, otherKey)).status, 204);
  for (const fields of [{ message_id }, { message_id: crypto.randomUUID() }]) {
    const { status, json } = await report(id, fields);
    assert.equal([status, (json.errors as Json[])[0]!.code], [422, 'unknown_message']);
  }
});

test('a report with a value out of its limits is refused, with the field that is wrong', async () => {
  const id = await deliver();
  for (const [field, value] of [
    ...[['attempt', 0] as const, ['attempt', 11] as const, ['outcome', 'done'] as const, ['code', 'two words'] as const],
    ...[['reason', ''] as const, ['reason', 'x'.repeat(2_001)] as const, ['stderr_tail', 'x'.repeat(4_001)] as const],
    ...[['seconds', -1] as const, ['message_id', 'x'] as const],
  ]) {
    const { status, json } = await report(id, { [field]: value });
    assert.equal([status, (json.errors as Json[])[0]!.pointer], [422, `/${field}`], `${field} ${value}`);
  }
  assert.is((await report(id, { code: '503', stderr_tail: null })).status, 204);
  assert.is((await detailOf(id)).attempts[0]!.report!.code, '503');
});

test('the list of failed deliveries shows why each failed; it has none that is acknowledged or has not failed', async () => {
  const [failed, dead, unreported, done, open] = [await deliver(), await deliver(), await deliver(), await deliver(), await deliver()];
  for (const id of [failed, dead, done]) await report(id, { reason: `failed ${id}` });
  for (const id of [failed, unreported, done]) await settle(id, 'DeliveryAttemptFailed');
  await settle(dead, 'DeliveryDeadLettered');
  await settle(done, 'DeliveriesAcknowledged');
  await given.waitForProjections();
  const listed = JSON.parse((await given.call('GET', 'deliveries?failed=true&limit=200')).text) as (Json & { last_failure: Json | null })[];
  const reasonOf = new Map(listed.map(({ id, last_failure }) => [id, last_failure?.reason ?? null]));
  assert.equal([reasonOf.get(failed), reasonOf.get(dead)], [`failed ${failed}`, `failed ${dead}`]);
  assert.equal([reasonOf.get(unreported), reasonOf.has(done), reasonOf.has(open)], [null, false, false]);
  const problems = JSON.parse((await given.call('GET', 'deliveries/problems')).text) as Json[];
  assert.equal([problems[0]!.example_id, (problems[0]!.example_failure as Json).reason], [dead, `failed ${dead}`]);
});

test('without the keys of the tenant, a delivery is shown with its reports, but without their texts', async () => {
  const id = await deliver();
  await report(id);
  const other = await given.startSecondProcess(given.log);
  Object.assign(other.vault, { open: () => Promise.reject(new Error('no key')) });
  const { attempts } = (await other.request(`${given.tenant}/deliveries/${id}`, { headers: bearer(given.key) })).json as {
    attempts: ReportedAttempt[];
  };
  await other.close();
  assert.equal([attempts[0]!.report!.code, attempts[0]!.report!.reason, attempts[0]!.report!.stderr_tail], ['1', null, null]);
});

test.run();
