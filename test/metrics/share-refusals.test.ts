import * as assert from 'uvu/assert';
import { ruleSetOf } from '../../domain/guardrails/rule-set.ts';
import { createRuleEvaluator } from '../../infra/guardrails/rule-evaluator.ts';
import { createProcessMetrics } from '../../infra/metrics/process-metrics.ts';
import type { SpoolEntry } from '../../infra/spool/spooled-delivery.ts';
import { createWriteQueue } from '../../infra/spool/write-queue.ts';
import { createTaskThread } from '../../infra/threads/task-thread.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const metrics = createProcessMetrics('serve');

const refusedOf = async (resource: string): Promise<number> => {
  const { text } = await metrics.text();
  return Number(new RegExp(`^annals_share_refused_total\\{resource="${resource}"\\} (\\d+)$`, 'm').exec(text)![1]);
};

const useThread = async (): Promise<void> => {
  const script = new URL('../fixtures/task-worker.ts', import.meta.url);
  const { run, close } = createTaskThread({ script, timeLimitMs: 60_000, maxMemoryBytes: 64 * 1024 ** 2, maxWaiting: 1 });
  const first = run('a', { kind: 'echo', value: '' });
  await run('a', { kind: 'echo', value: '' }).catch(() => {});
  await run('b', { kind: 'echo', value: '' });
  await first;
  close();
};

const useSpoolQueue = async (): Promise<void> => {
  const queue = createWriteQueue({ write: async (entries) => entries.map(() => 'inserted') as never, onResult: () => {} });
  const entry = (tenant: string): SpoolEntry => ({ tenant, body: new Uint8Array(70 * 1024 ** 2) }) as SpoolEntry;
  const put = queue.put(entry('a'));
  assert.equal([queue.hasRoom(entry('a')), queue.hasRoom(entry('b'))], [false, true]);
  await put;
};

const useRules = async (): Promise<void> => {
  const rule = { name: 'r', kind: 'pattern', options: { pattern: 'x' }, action: 'block' } as const;
  const rules = ruleSetOf({ tenant: [rule], integration: [], redactions: [] }, { tenant: 'a', integration: 'i' });
  const { evaluate, close } = createRuleEvaluator({ logger: { warn: () => {} } as never });
  const content = { body: new TextEncoder().encode('"x"'), media: 'json', json: 'json', needsChecks: false } as const;
  const evaluateFor = (tenant: string) => evaluate(tenant, rules, { size: 3, event: 'push', causationDepth: 0 }, content);
  const results = await Promise.all([...Array.from({ length: 1_001 }, () => evaluateFor('a')), evaluateFor('b')]);
  assert.is(results.filter((result) => result === null).length, 1);
  await close();
};

for (const [resource, use] of [
  ['threads', useThread],
  ['spool-queue', useSpoolQueue],
  ['guardrail-rules', useRules],
] as const)
  test(`a refusal because one tenant has used up its share of '${resource}' is counted in the metrics, and another tenant is served`, async () => {
    const before = await refusedOf(resource);
    await use();
    assert.is(await refusedOf(resource), before + 1);
  });

test.run();
