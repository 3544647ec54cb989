import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusal } from '../../domain/refusal.ts';
import { LogError } from '../../infra/eventstore/event-log.ts';
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
  'overview/counts',
  'agents?sort=-activity',
  'agents/summary',
  'audit-logs?by=people',
  'audit-logs/facets',
  'sessions',
  'sessions?for_me=true',
];

const unavailable = () => new Refusal('unavailable', 'The read models are unavailable.');
const rejects = () => Promise.reject(unavailable());
// biome-ignore lint/correctness/useYield: The stream fails before its first event.
const breaks = async function* () {
  throw new LogError('unavailable', 'The event log is unavailable.');
};

/** The functions that read, with a replacement that fails. */
const SOURCES = [
  [p.reads, 'rows', rejects],
  [p.reads, 'page', rejects],
  [p.reads, 'one', rejects],
  [p.log, 'read', breaks],
] as const;
type Source = (typeof SOURCES)[number];
const MAX_CALLS = 40;

/** Reads a path while one call of a source fails. Returns the status; null if there were fewer calls. */
const withFailure = async (path: string, [holder, name, fail]: Source, failing: number): Promise<number | null> => {
  const functions = holder as unknown as Record<string, unknown>;
  const original = functions[name] as (...given: unknown[]) => unknown;
  let calls = 0;
  functions[name] = (...given: unknown[]) => (calls++ === failing ? fail() : original(...given));
  const { status } = await p.send('GET', `${p.tenant}/${path}`).finally(() => {
    functions[name] = original;
  });
  return calls > failing ? status : null;
};

for (const path of PATHS)
  test(`when one of its reads fails, every promise of GET ${path.replaceAll(/[^/]{25}.*/g, '…')} is handled`, async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): number => unhandled.push(error);
    process.on('unhandledRejection', note);
    try {
      for (const source of SOURCES)
        for (let failing = 0; failing < MAX_CALLS; failing++) {
          const status = await withFailure(path, source, failing);
          if (status === null) break;
          assert.ok([200, 503].includes(status), `${source[1]} ${failing}: ${status}`);
        }
      await new Promise((resolve) => setTimeout(resolve, 20));
    } finally {
      process.off('unhandledRejection', note);
    }
    assert.equal(unhandled, []);
  });

test.after(() => p.close());
test.run();
