import { test } from 'uvu';
import { equal } from 'uvu/assert';
import type { RunnerAgent } from '../../infra/runner/api-client.ts';
import { type BudgetState, createBudgetGate } from '../../infra/runner/budget-gate.ts';

const USED_UP: BudgetState = { hour: '2026-01-01T10:00:00.000Z', limit_usd: 10, left_usd: 0, refused: 0, refused_sessions: 0 };

test('no worker starts an event before the first answer about a budget, also if another worker has asked for it', async () => {
  const answer = Promise.withResolvers<BudgetState>();
  const agent = {} as RunnerAgent;
  const gate = createBudgetGate({ api: { budget: () => answer.promise }, agent, report: () => {} });
  const ending = new AbortController();
  const opened = Promise.all([gate.untilOpen(ending.signal), gate.untilOpen(ending.signal)]);
  answer.resolve(USED_UP);
  setImmediate(() => ending.abort());
  equal(await opened, [false, false]);
});

test.run();
