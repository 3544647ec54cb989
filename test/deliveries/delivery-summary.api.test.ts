import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';

type Json = Record<string, unknown>;
type Outcomes = { accepted: number; blocked: number; rejected: number; dead: number };
type Summary = {
  outcomes: Outcomes;
  groups: { key: string | null; outcomes: Outcomes }[];
  buckets: { from: string; to: string; outcomes: Outcomes }[];
};

const NEW_SECRET = 'a new secret for the same integration';

const p = await createTestPlatform();
const created = async (path: string, body: Json): Promise<string> => {
  const answer = await p.send('POST', `${p.tenant}/${path}`, { body });
  assert.is(answer.status, 201, answer.text);
  return (answer.body as Json).id as string;
};
const agent = await created('agents', { name: 'First', slug: 'first' });
const other = await created('agents', { name: 'Second', slug: 'second' });
const connect = (agent_id: string, more: Json = {}) =>
  created('webhook-integrations', { provider: 'github', agent_id, label: 'Code', secret: SECRET, replay_guard: 'off', ...more });

let sent = 0;
const deliver = async (hook: string, event = 'push', secret = SECRET): Promise<number> => {
  const raw = JSON.stringify({ n: sent++ });
  const headers = { 'x-github-delivery': `d-${sent}`, 'x-github-event': event, 'x-hub-signature-256': sign(raw, secret) };
  return (await p.send('POST', `/hooks/inbound/${hook}`, { raw, key: '', headers })).status;
};
const read = async <T>(path: string, key?: string): Promise<T> => {
  const answer = await p.send('GET', `${p.tenant}/${path}`, key === undefined ? {} : { key });
  assert.is(answer.status, 200, answer.text);
  return answer.body as T;
};
const refusal = async (path: string): Promise<unknown[]> => {
  const answer = await p.send('GET', `${p.tenant}/${path}`);
  return [answer.status, ((answer.body as Json).errors as { pointer: string }[])[0]!.pointer];
};
/**
 * Reads a path repeatedly until the response has the expected value. This takes some time, because rejections are
 * recorded in batches after the response.
 */
const until = async <T>(path: string, isThere: (value: T) => boolean): Promise<T> => {
  for (;;) {
    const value = await read<T>(path);
    if (isThere(value)) return value;
  }
};

const start = '2020-01-01T00:00:00.000Z';
const first = await connect(agent);
const second = await connect(other, { event_filter: ['push'] });
for (const event of ['push', 'push', 'issues']) assert.is(await deliver(first, event), 202);
await deliver(second);
await deliver(second, 'ping');
assert.is(await deliver(first, 'push', 'forged'), 401);
await until<Summary>('deliveries/summary', ({ outcomes }) => outcomes.rejected === 1);

test('the summary of deliveries counts them by outcome, group and time, and accepts the same filters as the list', async () => {
  const all = { accepted: 4, blocked: 1, rejected: 1, dead: 0 };
  assert.equal(await read('deliveries/summary'), { outcomes: all, states: null, replayable: null, groups: [], buckets: [] });
  const byAgent = await read<Summary>('deliveries/summary?group_by=agent_id');
  assert.equal(byAgent.groups, [
    { key: agent, outcomes: { accepted: 3, blocked: 0, rejected: 1, dead: 0 } },
    { key: other, outcomes: { accepted: 1, blocked: 1, rejected: 0, dead: 0 } },
  ]);
  const { groups } = await read<Summary>('deliveries/summary?group_by=provider');
  assert.equal(
    groups.map(({ key }) => key),
    ['github', null],
  );
  const filtered = await read<Summary>(`deliveries/summary?integration_id=${first}&event=push&outcome=accepted`);
  assert.equal(filtered.outcomes, { accepted: 2, blocked: 0, rejected: 0, dead: 0 });
  const { buckets } = await read<Summary>(`deliveries/summary?buckets=3&from=${start}&to=2100-01-01T00:00:00.000Z`);
  assert.equal(
    buckets.map(({ outcomes }) => outcomes.accepted).reduce((sum, count) => sum + count),
    4,
  );
  assert.is(buckets.length, 3);
  assert.equal([buckets[0]!.from, buckets[0]!.to, buckets[2]!.to], [start, buckets[1]!.from, '2100-01-01T00:00:00.000Z']);
  const earliest = await read<Summary>('deliveries/summary?fit=true&buckets=2&to=0001-01-01T00:00:01Z');
  assert.is(earliest.buckets[0]!.from, '0001-01-01T00:00:00.000Z');
  const past = await read<Summary>(`deliveries/summary?buckets=2&from=${start}&to=2021-01-01T00:00:00Z`);
  assert.equal(past.outcomes, { accepted: 0, blocked: 0, rejected: 0, dead: 0 });
});

test("a summary with a wrong period, too many intervals or unknown fields is refused with the parameter's name", async () => {
  assert.equal(await refusal('deliveries/summary?buckets=3'), [422, '/query/from']);
  assert.equal(await refusal(`deliveries/summary?buckets=3&from=${start}&to=${start}`), [422, '/query/to']);
  assert.equal(await refusal(`deliveries/summary?buckets=121&from=${start}`), [422, '/query/buckets']);
  assert.equal(await refusal('deliveries/summary?fit=true'), [422, '/query/buckets']);
  assert.equal(await refusal(`deliveries/summary?fit=true&from=${start}`), [422, '/query/buckets']);
  assert.equal(await refusal('deliveries/summary?fit=true&buckets=1&to=0001-01-01T00:00:00Z'), [422, '/query/to']);
  assert.equal(await refusal('deliveries/summary?group_by=id'), [422, '/query/group_by']);
  assert.equal(await refusal('deliveries?matched_secret=both'), [422, '/query/matched_secret']);
});

test("the list of deliveries can be filtered by the reason of a block or rejection, by the provider's delivery id and by the secret that matched", async () => {
  const ids = async (query: string) => (await read<{ event: string }[]>(`deliveries?${query}`)).map(({ event }) => event);
  assert.equal(await ids('provider_delivery_id=d-3'), ['issues']);
  const filtered = (await read<Json[]>('deliveries?outcome=blocked'))[0]!.reason;
  assert.equal(await ids(`reason=${filtered}`), ['ping']);
  assert.equal(await ids('matched_secret=previous'), []);
  assert.is((await ids('matched_secret=current')).length, 5);
});

test('callers who may read integrations get the rejected and blocked deliveries by reason or rule, and integration', async () => {
  const found = await read<Json[]>('deliveries/problems');
  assert.equal(
    found.map(({ outcome, reason, rule, integration_id, integration_label, count }) => [
      outcome,
      reason,
      rule,
      integration_id,
      integration_label,
      count,
    ]),
    [
      ['rejected', 'signature_mismatch', null, first, 'Code', 1],
      ['blocked', 'event_filter', 'event_filter', second, 'Code', 1],
    ],
  );
  assert.equal(
    found.map(({ share }) => share),
    [1 / 6, 1 / 6],
  );
  assert.equal(
    (await read<Json[]>('deliveries/problems?trend=true')).map(({ trend }) => [(trend as number[]).length, (trend as number[]).at(-1)]),
    [
      [24, 1],
      [24, 1],
    ],
  );
  assert.match(found[0]!.fingerprint as string, /^[0-9a-f]{16}$/);
  const example = await read<Json>(`deliveries/${found[0]!.example_id}`);
  assert.equal([example.outcome, example.payload], ['rejected', null]);
  assert.equal(await read('deliveries/problems?to=2021-01-01T00:00:00Z'), []);
  // Without `from`, the period is the 30 days before `to`.
  const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();
  for (const [query, count] of [
    [`to=${inDays(29)}`, 2],
    [`to=${inDays(31)}`, 0],
    [`to=${inDays(31)}&from=${start}`, 2],
    ['to=0001-01-01T00:00:00Z', 0],
  ] as const)
    assert.is((await read<Json[]>(`deliveries/problems?${query}`)).length, count, query);
  const member = (await addMember(p, 'MEMBER')).key;
  assert.is((await p.send('GET', `${p.tenant}/deliveries/problems`, { key: member })).status, 403);
  assert.equal((await read<Summary>('deliveries/summary', member)).outcomes, { accepted: 0, blocked: 0, rejected: 0, dead: 0 });
});

test('after a secret rotation, the summary counts deliveries per secret; after the old secret is dropped, a delivery signed with the old secret is rejected', async () => {
  const hook = await connect(agent);
  const path = `webhook-integrations/${hook}`;
  assert.is((await read<Json>(path)).secret_rotated_at, null);
  assert.ok(((await read<Json>(path)).test_events as string[]).includes('ping'));
  assert.is((await p.send('DELETE', `${p.tenant}/${path}/previous-secret`)).status, 204);
  assert.is(p.eventsOf('IntegrationPreviousSecretDropped').length, 0, 'there is no previous secret yet');
  const done = await p.send('POST', `${p.tenant}/${path}/rotate-secret`, { body: { secret: NEW_SECRET } });
  assert.is(done.status, 200, done.text);
  const { secret_rotated_at: rotated } = await until<Json>(path, ({ previous_secret_valid_until: end }) => end !== null);
  assert.ok(rotated);
  assert.equal([await deliver(hook, 'push', NEW_SECRET), await deliver(hook), await deliver(hook)], [202, 202, 202]);
  const by = await read<Summary>(`deliveries/summary?integration_id=${hook}&from=${rotated}&group_by=matched_secret`);
  assert.equal(
    by.groups.map(({ key, outcomes }) => [key, outcomes.accepted]),
    [
      ['previous', 2],
      ['current', 1],
    ],
  );
  assert.ok((await until<Json>(path, ({ last_delivery_at }) => last_delivery_at !== null)).last_delivery_on_previous_secret_at);
  assert.is((await p.send('DELETE', `${p.tenant}/${path}/previous-secret`)).status, 204);
  assert.is((await p.send('DELETE', `${p.tenant}/${path}/previous-secret`)).status, 204);
  assert.is(p.eventsOf('IntegrationPreviousSecretDropped').length, 1);
  const after = await until<Json>(path, ({ previous_secret_valid_until: end }) => end === null);
  assert.equal([after.previous_secret_valid_until, after.secret_rotated_at], [null, rotated]);
  assert.equal([await deliver(hook), await deliver(hook, 'push', NEW_SECRET)], [401, 202]);
});

test.after(() => p.close());
test.run();
