import { pino } from 'pino';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { advanceReplay } from '../../commands/deliveries/replay-deliveries.reactor.ts';
import { createReleaseServices } from '../../infra/deliveries/release-services.ts';
import { advanceReplays, replayPorts } from '../../infra/deliveries/replay-deliveries.ts';
import { createSlidingWindows } from '../../infra/ratelimit/sliding-windows.ts';
import { runningJobs } from '../../projections/deliveries/replay-job.queries.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const logger = pino({ level: 'silent' });
const { releases, close } = createReleaseServices({
  log: p.log,
  logger,
  vault: { open: async () => p.vault },
  windows: createSlidingWindows(),
});

const created = async (path: string, body: Json): Promise<string> => {
  const answer = await p.send('POST', `${p.tenant}/${path}`, { body });
  assert.is(answer.status, 201, answer.text);
  return (answer.body as Json).id as string;
};
const agent = await created('agents', { name: 'Reviewer', slug: 'reviewer' });
const other = await created('agents', { name: 'Other', slug: 'other' });
const hookOf = () => created('webhook-integrations', { provider: 'github', agent_id: agent, label: 'Code', secret: SECRET });

let sent = 0;
const deliver = async (hook: string, raw: string): Promise<string> => {
  const headers = { 'x-github-delivery': `j-${sent++}`, 'x-github-event': 'push', 'x-hub-signature-256': sign(raw) };
  return String(((await p.send('POST', `/hooks/inbound/${hook}`, { raw, key: '', headers })).body as Json).id);
};
/** Connects a paused integration, which blocks all these bodies. @returns its id, and those of the deliveries */
const blockedBy = async (bodies: readonly string[]) => {
  const hook = await hookOf();
  await p.send('PATCH', `${p.tenant}/webhook-integrations/${hook}`, { body: { is_paused: true } });
  const ids: string[] = [];
  for (const body of bodies) ids.push(await deliver(hook, body));
  return { hook, ids };
};

const REASON = 'The pause was a mistake';
const replay = (body: Json) => p.send('POST', `${p.tenant}/deliveries/replay`, { body: { outcome: 'blocked', ...body } });
const now = () => new Date().toISOString();
const jobOf = async (id: unknown): Promise<Json> => (await p.send('GET', `${p.tenant}/jobs/${id}`)).body as Json;
const runAll = async (): Promise<void> => {
  await p.waitForProjections();
  while (await advanceReplays({ log: p.log, releases, logger }, await runningJobs(p.reads, now()), now())) await p.waitForProjections();
  await p.waitForProjections();
};
/** Changes one byte of the stored body of a delivery. */
const damage = (delivery: string): void => {
  const stored = p.eventsOf('WebhookBlocked').find(({ id }) => id === delivery)!;
  (stored.data as Uint8Array)[0]! ^= 1;
};
const released = (ids: readonly string[]) => p.eventsOf('DeliveryReleased').filter(({ id }) => ids.includes(id));

test('a job releases 200 blocked deliveries redacted, each once, although it is killed and runs in two processes', async () => {
  const bodies = Array.from({ length: 200 }, (_, n) => `{"n":${n},"key":"AKIA0123456789ABCDEF"}`);
  const { hook, ids } = await blockedBy(bodies);
  const rule = { name: 'keys', kind: 'pattern', options: { pattern: 'AKIA[0-9A-Z]{16}' }, action: 'redact' };
  await p.send('PUT', `${p.tenant}/guardrails`, { body: [rule] });
  const counted = await replay({ integration_id: hook, dry_run: true });
  assert.equal([counted.status, (counted.body as Json).total], [202, 200]);
  const { id } = (await replay({ integration_id: hook, release_reason: REASON })).body as Json;
  const ref = { tenant_id: p.tenant_id, id: id as string };
  const ports = replayPorts(p.log, now(), releases);
  let appended = 0;
  const requeueOnce: typeof ports.requeueOnce = async (one) => {
    if (appended++ >= 12) throw new Error('killed');
    await ports.requeueOnce(one);
  };
  await advanceReplay({ ...ports, requeueOnce }, ref, now()).then(
    () => assert.unreachable(),
    ({ message }: Error) => assert.is(message, 'killed'),
  );
  await Promise.all([1, 2].map(() => advanceReplay(replayPorts(p.log, now(), releases), ref, now())));
  await runAll();
  const events = released(ids);
  assert.equal([events.length, new Set(events.map((event) => event.id)).size], [200, 200]);
  assert.ok(
    events.every(({ actor, data }) => actor.kind === 'user' && (data as Json).reason === REASON && (data as Json).agent_id === agent),
  );
  const job = await jobOf(id);
  assert.equal([job.status, job.done, job.error], ['done', 200, null]);
  const last = (await p.send('GET', `${p.tenant}/deliveries/${ids[199]}`)).body as Json;
  assert.equal([last.status, last.payload, last.redactions], ['waiting', { n: 199, key: '[redacted:keys]' }, 1]);
  const requested = p.eventsOf('DeliveriesReplayRequested').find((event) => event.id === id)!.data as Json;
  assert.equal([requested.outcome, requested.release_reason], ['blocked', REASON]);
  await p.send('PUT', `${p.tenant}/guardrails`, { body: [] });
});

test('a job with a target releases to it; what cannot be released is skipped, and the job says why', async () => {
  const { hook, ids } = await blockedBy(['{"a":1}', '{', '{"a":2}']);
  const { id } = (await replay({ integration_id: hook, release_reason: REASON, target_agent_id: other })).body as Json;
  const first = await p.send('POST', `${p.tenant}/deliveries/${ids[0]}/release`, { body: { reason: 'By hand' } });
  assert.is(first.status, 202, first.text);
  const rule = { name: 'keys', kind: 'pattern', options: { pattern: 'AKIA[0-9A-Z]{16}' }, action: 'redact' };
  await p.send('PUT', `${p.tenant}/guardrails`, { body: [rule] });
  await runAll();
  await p.send('PUT', `${p.tenant}/guardrails`, { body: [] });
  assert.equal(
    released(ids).map((event) => [event.id, (event.data as Json).agent_id]),
    [
      [ids[0], agent],
      [ids[2], other],
    ],
  );
  const job = await jobOf(id);
  assert.equal([job.status, job.done], ['done', 3]);
  assert.match(job.error as string, /^2 not sent: The delivery was released at .* redeliver it$/);
});

test('a damaged body and a job that fails stop neither the rest of the job nor other jobs', async () => {
  const failing = await blockedBy(['{"b":1}']);
  const { hook, ids } = await blockedBy(['{"a":1}', '{"a":2}']);
  const broken = (await replay({ integration_id: failing.hook, release_reason: REASON })).body as Json;
  const { id } = (await replay({ integration_id: hook, release_reason: REASON })).body as Json;
  damage(ids[0]!);
  await p.waitForProjections();
  const log: typeof p.log = {
    ...p.log,
    read: (stream, part) => {
      if (stream.includes(failing.ids[0]!)) throw new Error('an unexpected error');
      return p.log.read(stream, part);
    },
  };
  const reactor = { log, releases, logger };
  while (await advanceReplays(reactor, await runningJobs(p.reads, now()), now())) await p.waitForProjections();
  await p.waitForProjections();
  assert.equal([(await jobOf(broken.id)).status, released(ids).map((event) => event.id)], ['running', [ids[1]]]);
  const job = await jobOf(id);
  assert.equal([job.status, job.done], ['done', 2]);
  assert.match(job.error as string, /^1 not sent: The stored body is damaged/);
  await runAll();
  assert.is((await jobOf(broken.id)).status, 'done');
});

test('a replay without an outcome leaves out blocked deliveries, and one that releases leaves out all others', async () => {
  const { hook, ids } = await blockedBy(['{"a":1}']);
  await p.send('PATCH', `${p.tenant}/webhook-integrations/${hook}`, { body: { is_paused: false } });
  await deliver(hook, '{"a":2}');
  const totalOf = async (body: Json) => ((await replay({ integration_id: hook, dry_run: true, ...body })).body as Json).total;
  assert.equal([await totalOf({ outcome: undefined }), await totalOf({}), await totalOf({ reason: 'paused' })], [1, 1, 1]);
  assert.is(await totalOf({ reason: 'rate' }), 0);
  assert.equal(released(ids), []);
});

afterLastTest(async () => {
  await close();
  await p.close();
});

test.run();
