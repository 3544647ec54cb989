// limit: 240 s for this file (test/run.ts)
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { BudgetExceeded, connectRunner, Refusal, RetryLater, type RunnerEvent } from '../../infra/runner/runner-client.ts';
import { createSockets, post } from '../faults/load.ts';
import type { RunningPlatform } from '../faults/running-platform.ts';
import { type Agent, createDataset, type Hook } from '../faults/tenants.ts';
import { bareEnvironment, eventually, mainFile, root, startProgram } from '../fixtures/child-process.ts';
import { exampleOf } from '../fixtures/documents.ts';
import { runningPlatform } from '../fixtures/running-platform.ts';

const withPlatform = runningPlatform();

/** How many deliveries wait while the budget of their agent is used up. */
const WAITING = 200;

type Json = Record<string, unknown>;
type Transcript = { session: Json; messages: Json[]; attachments?: Json[] };

const oneAgent = async (platform: RunningPlatform): Promise<{ agent: Agent; hook: Hook }> => {
  const { agents, hooks } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 1 });
  return { agent: agents[0]!, hook: hooks[0]! };
};

const deliver = async ({ url }: RunningPlatform, hook: Hook, data: object): Promise<string> => {
  const sockets = createSockets();
  const { id } = await post(url, sockets, { hook, deliveryId: randomUUID(), body: JSON.stringify(data) });
  sockets.destroy();
  return id!;
};

const read = async <T>({ call }: RunningPlatform, { tenant }: Agent, path: string): Promise<T> => {
  const { status, text } = await call('GET', path.replace('T/', `/tenant/${tenant.id}/`), undefined, tenant);
  assert.is(status, 200, text);
  return JSON.parse(text) as T;
};

/** Waits until the delivery is done and a session belongs to it. @returns the delivery */
const doneDelivery = async (platform: RunningPlatform, agent: Agent, id: string): Promise<Json> => {
  let found: Json = {};
  await eventually('the delivery is done', async () => {
    found = JSON.parse((await platform.call('GET', `/tenant/${agent.tenant.id}/deliveries/${id}`, undefined, agent.tenant)).text);
    return found.status === 'done' && found.session_id !== null;
  });
  return found;
};

test('the documented example of a runner opens a session for a delivery, appends messages with tokens and cost, and completes the session', () =>
  withPlatform(async (platform) => {
    const { agent, hook } = await oneAgent(platform);
    const dir = join(platform.dir, 'example');
    mkdirSync(join(dir, 'node_modules'), { recursive: true });
    symlinkSync(root, join(dir, 'node_modules', 'annals-client'));
    writeFileSync(join(dir, 'package.json'), '{"type": "module"}');
    writeFileSync(join(dir, 'runner.ts'), exampleOf('ts', 'runner.startSession'));
    const env = { ...bareEnvironment(), ANNALS_URL: platform.url, ANNALS_KEY: agent.runnerKey };
    platform.stopOnClose(startProgram(process.execPath, ['runner.ts'], { cwd: dir, env }));

    const delivery = await doneDelivery(platform, agent, await deliver(platform, hook, { zen: 'Keep it simple' }));
    assert.equal(
      (delivery.causation as Json[]).map(({ type }) => type),
      ['WebhookAccepted', 'SessionStarted'],
    );
    const { session, messages } = await read<Transcript>(platform, agent, `T/sessions/${delivery.session_id}`);
    assert.is(session.status, 'completed');
    assert.ok(messages.length >= 2);
    assert.match(messages[0]!.content as string, /Keep it simple/);
    const answer = messages.at(-1)!;
    assert.is(answer.role, 'assistant');
    assert.ok((answer.prompt_tokens as number) > 0 && (answer.completion_tokens as number) > 0, JSON.stringify(answer));
  }));

test('if the handler of a runner throws, it is called again with the same event and the next attempt number; a session can wait, contain files, and fail', () =>
  withPlatform(async (platform) => {
    const { agent, hook } = await oneAgent(platform);
    const control = new AbortController();
    const lines: string[] = [];
    const dir = join(platform.dir, 'client');
    const runner = await connectRunner({
      url: platform.url,
      key: agent.runnerKey,
      dir,
      signal: control.signal,
      report: (line) => void lines.push(line),
    });
    assert.equal(runner.agent, { id: agent.id, slug: agent.slug });
    assert.is((await runner.runtime()).agent.id, agent.id);

    const seen: [number, RunnerEvent][] = [];
    const receiving = runner.receive(async (event, { attempt }) => {
      seen.push([attempt, event]);
      if (attempt === 1) throw new RetryLater(200, 'not yet');
      const session = await runner.startSession({ title: 'Review', delivery_id: event.deliveryid }, event.id);
      await session.wait('May I?');
      await session.append({ role: 'user', content: 'Yes' });
      const file = await session.attach({ filename: 'report.txt', bytes: Buffer.from('All is well.') });
      assert.equal([file.filename, file.size_bytes], ['report.txt', 12]);
      const learned = await session.remember('It cannot be done', 'report.txt');
      const general = await runner.remember('Ask first.');
      assert.equal([learned.session_id, learned.source, general.session_id], [session.id, 'report.txt', null]);
      await session.fail({ error: 'It cannot be done' });
      assert.is((await runner.startSession({ title: 'Review', delivery_id: event.deliveryid }, event.id)).id, session.id);
      const refused = await session.append({ role: 'assistant', content: 'Late' }).catch((error: Refusal) => error);
      assert.instance(refused, Refusal);
      assert.is((refused as Refusal).code, 'conflict');
    });

    const text = 'y'.repeat(100_000);
    const delivery = await doneDelivery(platform, agent, await deliver(platform, hook, { text }));
    assert.equal(
      seen.map(([attempt, { data }]) => [attempt, data]),
      [
        [1, { text }],
        [2, { text }],
      ],
    );
    assert.match(lines.join('\n'), /the handler failed \(not yet\) for [0-9a-f-]{36}, attempt 1 of 10; it is tried again in 0\.2 s/);
    const { session, messages } = await read<Transcript>(platform, agent, `T/sessions/${delivery.session_id}`);
    assert.equal([session.status, session.error], ['failed', 'It cannot be done']);
    assert.equal(
      messages.map(({ role, kind, content }) => [role, kind, content]),
      [
        ['assistant', 'waiting', 'May I?'],
        ['user', null, 'Yes'],
      ],
    );
    control.abort();
    assert.is(await receiving, false);
    assert.is(readFileSync(join(dir, `${agent.id}.ledger`), 'utf8').trim(), seen[0]![1].id);
  }));

test('while a budget is used up, no delivery is started or given up; when it is raised, all are processed in order', () =>
  withPlatform(async (platform) => {
    const { agent, hook } = await oneAgent(platform);
    const setBudget = async (hourly_limit_usd: number): Promise<void> => {
      const path = `/tenant/${agent.tenant.id}/agents/${agent.id}/budget`;
      const { status, text } = await platform.call('PUT', path, { hourly_limit_usd }, agent.tenant);
      assert.is(status, 200, text);
    };
    await setBudget(1);
    const sockets = createSockets();
    for (let number = 0; number < WAITING; number++)
      await post(platform.url, sockets, { hook, deliveryId: randomUUID(), body: JSON.stringify({ number }) });
    sockets.destroy();

    const control = new AbortController();
    const lines: string[] = [];
    const dir = join(platform.dir, 'budget');
    const report = (line: string): void => void lines.push(line);
    const runner = await connectRunner({ url: platform.url, key: agent.runnerKey, dir, signal: control.signal, report });
    const done: unknown[] = [];
    const refused: unknown[] = [];
    const receiving = runner.receive(async ({ data }, { attempt }) => {
      const { settle } = await runner.reserve({ amount_usd: 0.4 }).catch((error) => {
        refused.push(error);
        throw error;
      });
      await settle(0.4);
      assert.is(attempt, 1);
      done.push((data as { number: number }).number);
    });
    await eventually('the budget is used up', async () => lines.some((line) => line.includes('is used up')));
    assert.ok(done.length < WAITING, `${done.length} are done`);
    assert.instance(refused[0], BudgetExceeded);
    assert.match((refused[0] as BudgetExceeded).resetsAt, /:00:00\.000Z$/);
    const deadBefore = await read<Json[]>(platform, agent, `T/deliveries?agent_id=${agent.id}&status=dead`);

    await setBudget(1_000);
    await eventually('all are processed', async () => done.length === WAITING);
    assert.equal(
      done,
      Array.from({ length: WAITING }, (_, number) => number),
    );
    control.abort();
    await receiving;
    assert.equal([deadBefore, await read<Json[]>(platform, agent, `T/deliveries?agent_id=${agent.id}&failed=true`)], [[], []]);
    assert.equal(
      lines.filter((line) => !/used up|allows work again/.test(line)),
      [],
    );
  }));

test('a delivery is queued until a runner has it, running while one has it, and held while the budget is used up', () =>
  withPlatform(async (platform) => {
    const { agent, hook } = await oneAgent(platform);
    const list = (query = ''): Promise<Json[]> => read<Json[]>(platform, agent, `T/deliveries${query}`);
    const statuses = async (): Promise<unknown[]> => (await list()).map(({ status }) => status);
    const untilStatuses = (...wanted: string[]): Promise<void> =>
      eventually(`the statuses are ${wanted}`, async () => JSON.stringify(await statuses()) === JSON.stringify(wanted));
    const assertFilters = async (): Promise<void> => {
      const all = await list();
      for (const status of ['waiting', 'queued', 'running', 'held', 'done', 'dead'])
        for (const more of ['', `&agent_id=${agent.id}`])
          assert.equal(
            (await list(`?status=${status}${more}`)).map(({ id }) => id),
            all.filter((one) => one.status === status).map(({ id }) => id),
            `${status}${more}`,
          );
    };
    for (const n of [1, 2, 3]) await deliver(platform, hook, { n });
    await untilStatuses('queued', 'queued', 'queued');
    await assertFilters();

    const control = new AbortController();
    const dir = join(platform.dir, 'states');
    const runner = await connectRunner({ url: platform.url, key: agent.runnerKey, dir, signal: control.signal, report: () => {} });
    const work = Promise.withResolvers<void>();
    const receiving = runner.receive(() => work.promise, { max: 1 });
    await untilStatuses('queued', 'queued', 'running');
    await assertFilters();
    const path = `/tenant/${agent.tenant.id}/agents/${agent.id}/budget`;
    await platform.call('PUT', path, { hourly_limit_usd: 1 }, agent.tenant);
    const { reserved } = await runner.reserve({ amount_usd: 1, ttl_seconds: 3_600 });
    const until = new Date(Date.parse(reserved.hour) + 3_600_000).toISOString();
    await untilStatuses('held', 'held', 'running');
    await assertFilters();
    const [newest] = await list();
    assert.equal(newest!.held, { reason: 'budget', rule: null, note: null, until, since: null });
    const detail = await read<Json>(platform, agent, `T/deliveries/${newest!.id}`);
    assert.equal([detail.status, detail.held], ['held', newest!.held]);
    work.resolve();
    assert.is(await receiving, false);
    await untilStatuses('held', 'held', 'done');
    const past = await read<Json>(platform, agent, `T/deliveries/${newest!.id}?as_of=${new Date().toISOString()}`);
    assert.equal([past.status, past.held], ['queued', null]);
  }));

test('if a setting is missing or not accepted, connectRunner fails with a one-line error that names the setting', () =>
  withPlatform(async (platform) => {
    const errorOf = (options: object): Promise<string> =>
      connectRunner({ url: platform.url, key: 'x', ...options }).then(
        () => 'none',
        (error: Error) => error.message,
      );
    assert.is(await errorOf({ url: '' }), 'ANNALS_URL is not set');
    assert.is(await errorOf({ key: '' }), 'ANNALS_KEY is not set');
    assert.match(await errorOf({}), /^ANNALS_KEY is refused: /);
  }));

test('annals runner with a wrong combination of --exec and --forward exits with 2 and prints a line of advice', async () => {
  const run = async (...words: string[]): Promise<string> => {
    const program = startProgram(process.execPath, [mainFile, 'runner', '--agent', 'a', ...words], { env: { ...bareEnvironment() } });
    const code = await program.ended;
    return `${code} ${program.output().trim().split('\n').at(0)}`;
  };
  assert.is(await run(), '2 annals: Give the runner a command (--exec) or a URL (--forward)');
  assert.is(await run('--exec', 'true', '--forward', 'http://x'), '2 annals: --exec cannot be combined with --forward');
  assert.is(await run('--forward', 'ftp://x'), '2 annals: --forward must be a URL that begins with http:// or https://');
});

test.run();
