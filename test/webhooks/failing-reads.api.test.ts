import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusal } from '../../domain/refusal.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const created = async (path: string, body: Json): Promise<string> => {
  const answer = await p.send('POST', `${p.tenant}/${path}`, { body });
  assert.is(answer.status, 201, answer.text);
  return (answer.body as Json).id as string;
};
const agent_id = await created('agents', { name: 'First', slug: 'first' });
const body = { provider: 'github', agent_id, label: 'Code', secret: SECRET, replay_guard: 'off' };
const hook = await created('webhook-integrations', body);
const raw = JSON.stringify({ n: 1 });
const headers = { 'x-github-delivery': 'd-1', 'x-github-event': 'push', 'x-hub-signature-256': sign(raw, SECRET) };
const received = await p.send('POST', `/hooks/inbound/${hook}`, { raw, key: '', headers });
assert.is(received.status, 202, received.text);
const delivery = (received.body as Json).delivery_id ?? (received.body as Json).id;

/** All combinations of the parts of a summary. */
const summaries = [[], ['buckets=3&from=2020-01-01T00:00:00Z'], ['buckets=3&fit=true']].flatMap((buckets) =>
  [[], ['group_by=agent_id']].flatMap((groups) =>
    [[], ['by_state=true']].map((states) => `deliveries/summary?${[...buckets, ...groups, ...states].join('&')}`),
  ),
);
const PATHS = [
  ...summaries,
  'deliveries/problems?trend=true',
  `deliveries/${delivery}?as_of=${encodeURIComponent(new Date().toISOString())}`,
  'overview',
  'agents?sort=-activity',
  'agents/summary',
  'audit-logs?by=people',
  'audit-logs/facets',
  'sessions',
  'sessions?for_me=true',
];

const READS = ['rows', 'page', 'one'] as const;
const MAX_CALLS = 40;

/** Reads a path while one call of the read models fails. Returns the status; null if there were fewer calls. */
const withFailure = async (path: string, name: (typeof READS)[number], failing: number): Promise<number | null> => {
  const reads = p.reads as Record<string, unknown>;
  const original = reads[name] as (...given: unknown[]) => Promise<unknown>;
  let calls = 0;
  reads[name] = (...given: unknown[]) =>
    calls++ === failing ? Promise.reject(new Refusal('unavailable', 'The read models are unavailable.')) : original(...given);
  const { status } = await p.send('GET', `${p.tenant}/${path}`).finally(() => {
    reads[name] = original;
  });
  return calls > failing ? status : null;
};

for (const path of PATHS)
  test(`when one of its reads fails, every promise of GET ${path.replaceAll(/[^/]{25}.*/g, '…')} is handled`, async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): number => unhandled.push(error);
    process.on('unhandledRejection', note);
    try {
      for (const name of READS)
        for (let failing = 0; failing < MAX_CALLS; failing++) {
          const status = await withFailure(path, name, failing);
          if (status === null) break;
          assert.ok([200, 503].includes(status), `${name} ${failing}: ${status}`);
        }
      await new Promise((resolve) => setTimeout(resolve, 20));
    } finally {
      process.off('unhandledRejection', note);
    }
    assert.equal(unhandled, []);
  });

test.after(() => p.close());
test.run();
