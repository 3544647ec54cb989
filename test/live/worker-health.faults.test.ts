// limit: 240 s for this file (test/run.ts)
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { STREAM } from '../../domain/runners/runner-credential.ts';
import { readPidFile } from '../../infra/supervision/pid-file.ts';
import { type Platform, sharedPlatform } from '../faults/platform.ts';
import { mainFile } from '../faults/running-platform.ts';
import { eventually, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { limitFileSize } from '../fixtures/store-process.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';

const onPlatform = sharedPlatform();

const degraded = async ({ call }: Platform): Promise<string[]> =>
  (JSON.parse((await call('GET', '/readyz')).text) as { degraded: string[] }).degraded;

const reportedAs = (platform: Platform, ...what: string[]): Promise<void> =>
  eventually(`degraded: ${what}`, async () => (await degraded(platform)).join() === what.join());

/**
 * Runs `annals doctor` and returns the line of its output about one part of the platform, by default about the worker.
 */
const examined = async ({ data, url }: Platform, part = 'worker', env: NodeJS.ProcessEnv = {}): Promise<string> => {
  const doctor = startProgram(process.execPath, [mainFile, 'doctor'], {
    env: { ...process.env, ANNALS_DATA: data, ANNALS_URL: url, ...env },
  });
  await doctor.ended;
  return (
    doctor
      .output()
      .split('\n')
      .find((line) => line.split(/ +/)[1] === part) ?? doctor.output()
  );
};

/** Waits for the worker's first health report. Until then, /readyz never lists the worker as degraded. */
const workerReported = (platform: Platform): Promise<void> =>
  eventually('a worker', async () => /^ok .* reported \d/.test(await examined(platform)));

test('while the broker accepts no messages, /readyz reports message delivery and the recording of acknowledgements as degraded, and doctor says why', () =>
  onPlatform(async (platform) => {
    await workerReported(platform);
    const nats = await platform.connectNats();
    const { streams } = await nats.jetstreamManager();
    await streams.delete(STREAM);
    await streams.add({ name: STREAM, subjects: ['somebody.else'] });
    await platform.kill('work');
    await reportedAs(platform, 'delivery to runners', 'recording of acknowledgements');
    assert.match(await examined(platform), /^FAIL .*delivery to runners waits: The stream AGENTS on the broker was not created by Annals/);
    await streams.delete(STREAM);
    await reportedAs(platform);
    await nats.close();
  }));

test('while the disk of the event store is full, deliveries go to the spool; if the spool is full too, deliveries and /readyz get 503 until there is space', () =>
  onPlatform(async (platform) => {
    if (process.platform !== 'linux') return;
    const { call, url, data } = platform;
    const create = async (path: string, body: object) => JSON.parse((await call('POST', path, body)).text);
    const tenant = await platform.firstTenant();
    const agent = await create(`/tenant/${tenant.id}/agents`, { name: 'A', slug: 'a' });
    const hook = await create(`/tenant/${tenant.id}/webhook-integrations`, {
      provider: 'github',
      agent_id: agent.id,
      label: 'L',
      secret: SECRET,
    });
    const deliver = async (id: string): Promise<number> => {
      const headers = { 'content-type': 'application/json', 'x-github-delivery': id, 'x-hub-signature-256': sign('{}', SECRET) };
      return (await fetch(`${url}/hooks/inbound/${hook.id}`, { method: 'POST', headers, body: '{}' })).status;
    };
    const ready = async (): Promise<number> => (await fetch(`${url}/readyz`)).status;
    assert.equal([await deliver('1'), await ready()], [202, 200]);
    const { pid } = readPidFile(join(data, 'run', 'store.pid'))!;
    const serve = readPidFile(join(data, 'run', 'serve.pid'))!;
    try {
      limitFileSize(pid, '1');
      assert.equal([await deliver('spooled'), await ready()], [202, 200]);
      await eventually('/readyz names the event store', async () => (await degraded(platform)).includes('event store'));
      limitFileSize(serve.pid, '1');
      assert.equal([await deliver('2'), await ready()], [503, 503]);
    } finally {
      limitFileSize(serve.pid, 'unlimited');
      limitFileSize(pid, 'unlimited');
    }
    // The response is 200 instead of 202 if an earlier attempt got 503 although its delivery was stored.
    const answers = new Set<number>();
    const isAccepted = async (): Promise<boolean> => {
      const status = await deliver('2');
      answers.add(status);
      return [200, 202].includes(status);
    };
    await eventually('the delivery is accepted', isAccepted).catch((error: Error) => {
      throw new Error(
        `${error.message}; the answers were ${[...answers]}; the store's log: ${readFileSync(join(data, 'logs/store.log'), 'utf8')}`,
      );
    });
    assert.is(await deliver('3'), 202);
    assert.is(await ready(), 200);
  }));

test('the doctor reports a master key that is not the one that encrypted the data keys in the log', () =>
  onPlatform(async (platform) => {
    const other = join(platform.data, 'other.key');
    writeFileSync(other, randomBytes(32), { mode: 0o600 });
    assert.match(await examined(platform, 'master'), /^ok +master key /);
    assert.match(await examined(platform, 'master', { MASTER_KEY_FILE: other }), /^FAIL .* is not the one that encrypted this log's keys/);
  }));

test('/readyz and doctor report a worker whose state is not updated, until it is updated again', () =>
  onPlatform(async (platform) => {
    await workerReported(platform);
    const { pid } = readPidFile(join(platform.data, 'run', 'work.pid'))!;
    process.kill(pid, 'SIGSTOP');
    try {
      await reportedAs(platform, 'worker');
      assert.match(await examined(platform), /^FAIL .*no worker has reported for \d+ s/);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await reportedAs(platform);
  }));

// This test must be the last one of those that share the platform, because it leaves parked events behind.
test('the doctor reports for each projection how many streams have parked events', () =>
  onPlatform(async (platform) => {
    await workerReported(platform);
    assert.match(await examined(platform, 'projections'), /^ok +projections /);
    const log = platform.openLog();
    const meta = { tenant: 't', actor: { kind: 'system', id: 'test' }, at: new Date().toISOString(), v: 1 } as const;
    for (const id of ['a', 'b']) await log.append(`agent-t.${id}`, 'none', [{ id: randomUUID(), type: 'AgentDeleted', data: {}, meta }]);
    await log.close();
    await eventually('the doctor finds it', async () => /^FAIL .*agents: 2\b/.test(await examined(platform, 'projections')));
    assert.match(await examined(platform, 'parked'), /^FAIL +parked events not applied: agents: 2\b/);
  }));

test('doctor checks a service at the IPv6 address at which it listens', async () => {
  const nowhere = { EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false', DATABASE_URL: 'postgres://127.0.0.1:1/annals' };
  const doctor = startProgram(process.execPath, [mainFile, 'doctor'], {
    env: { ...unconfiguredEnvironment(), ...nowhere, HOST: '::1', PORT: '1' },
  });
  await doctor.ended;
  assert.match(doctor.output(), /^FAIL +service +nothing answers at http:\/\/\[::1\]:1$/m);
});

test.run();
