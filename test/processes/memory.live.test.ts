// limit: 240
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import { ok } from 'uvu/assert';
import { freePort } from '../../infra/supervision/ports.ts';
import { type Program, startProgram, unconfiguredEnvironment, withTempDirectory } from '../fixtures/child-process.ts';
import { waitUntil } from '../fixtures/live-projections.ts';

/** The memory limits in MiB. They are slightly above the measured values of 57 MiB (supervisor) and 85 MiB (runner). */
const MAX_SUPERVISOR_MIB = 68;
const MAX_RUNNER_MIB = 98;
const SETTLE_MS = 2_000;

const residentMib = ({ child }: Program): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]) / 1024;

const post = async <T>(url: string, key: string, body: object): Promise<T> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  ok(response.ok, `${url} answers ${response.status}`);
  return (await response.json()) as T;
};

const createRunnerKey = async (base: string, key: string): Promise<string> => {
  const readMe = () => fetch(`${base}/me`, { headers: { authorization: `Bearer ${key}` } });
  // On a busy machine, the read models can be too slow for the first reads, which then get 503.
  const me = await waitUntil('GET /me', readMe, ({ status }) => status === 200);
  const { tenants } = (await me.json()) as { tenants: { id: string }[] };
  const tenantUrl = `${base}/tenant/${tenants[0]!.id}`;
  const agent = await post<{ id: string }>(`${tenantUrl}/agents`, key, { name: 'Waiting', slug: 'waiting' });
  const runnerKey = await post<{ key: string }>(`${tenantUrl}/agents/${agent.id}/runner-keys`, key, { name: 'Runner' });
  return runnerKey.key;
};

const run = process.platform === 'linux' ? test : test.skip;

run('the supervisor and a runner without deliveries take no more memory than their limits', () =>
  withTempDirectory(async (dir) => {
    const env = { ...unconfiguredEnvironment(), ANNALS_DATA: join(dir, 'data'), LOG_LEVEL: 'warn' };
    const port = await freePort();
    const base = `http://127.0.0.1:${port}`;
    const supervisor = startProgram(process.execPath, ['infra/main.ts', 'start'], { env: { ...env, PORT: String(port) } });
    await supervisor.waitForOutput(/^ready /m);
    const [, key = ''] = /API key \(shown once\): (\S+)/.exec(supervisor.output())!;
    const runnerKey = await createRunnerKey(base, key);
    const runner = startProgram(process.execPath, ['infra/main.ts', 'runner', '--agent', 'waiting', '--exec', 'true'], {
      env: { ...env, ANNALS_URL: base, ANNALS_KEY: runnerKey },
    });
    await runner.waitForOutput(/waiting for deliveries/);
    await sleep(SETTLE_MS);
    const [supervisorMib, runnerMib] = [residentMib(supervisor), residentMib(runner)];
    ok(supervisorMib <= MAX_SUPERVISOR_MIB, `the supervisor takes ${supervisorMib.toFixed(0)} MiB`);
    ok(runnerMib <= MAX_RUNNER_MIB, `the runner takes ${runnerMib.toFixed(0)} MiB`);
  }),
);

test.run();
