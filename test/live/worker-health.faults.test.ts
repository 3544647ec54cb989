// limit: 240 s for this file (test/run.ts)
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { STREAM } from '../../domain/runners/runner-credential.ts';
import { readPidFile } from '../../infra/supervision/pid-file.ts';
import type { RunningPlatform } from '../faults/running-platform.ts';
import { createDataset } from '../faults/tenants.ts';
import { eventually, mainFile, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { lentPlatform } from '../fixtures/running-platform.ts';
import { limitFileSize } from '../fixtures/store-process.ts';
import { sign } from '../fixtures/webhook-platform.ts';

const onPlatform = lentPlatform();

const degraded = async ({ call }: RunningPlatform): Promise<string[]> =>
  (JSON.parse((await call('GET', '/readyz')).text) as { degraded: string[] }).degraded;

const reportedAs = (platform: RunningPlatform, ...what: string[]): Promise<void> =>
  eventually(`degraded: ${what}`, async () => (await degraded(platform)).join() === what.join());

/** Runs `annals doctor` and returns the line of its output about the worker. */
const examined = async ({ data, url }: RunningPlatform): Promise<string> => {
  const doctor = startProgram(process.execPath, [mainFile, 'doctor'], { env: { ...process.env, ANNALS_DATA: data, ANNALS_URL: url } });
  await doctor.ended;
  return (
    doctor
      .output()
      .split('\n')
      .find((line) => line.split(/ +/)[1] === 'worker') ?? doctor.output()
  );
};

type Health = { readonly parts: readonly { readonly name: string; readonly status: string; readonly detail: string }[] };

/** Waits until the worker has reported its state. Until then, /readyz never lists the worker as degraded. */
const workerReported = ({ call }: RunningPlatform): Promise<void> =>
  eventually('a worker', async () => {
    const { parts } = JSON.parse((await call('GET', '/admin/health')).text) as Health;
    return parts.some(({ name, status, detail }) => name === 'worker' && status === 'ok' && /reported \d/.test(detail));
  });

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
    const { url, data } = platform;
    const { hooks } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 1 });
    const { path, secret } = hooks[0]!;
    const deliver = async (id: string): Promise<number> => {
      const headers = { 'content-type': 'application/json', 'x-github-delivery': id, 'x-hub-signature-256': sign('{}', secret) };
      return (await fetch(url + path, { method: 'POST', headers, body: '{}' })).status;
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

test('doctor checks a service at the IPv6 address at which it listens', async () => {
  const nowhere = { EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false', DATABASE_URL: 'postgres://127.0.0.1:1/annals' };
  const doctor = startProgram(process.execPath, [mainFile, 'doctor'], {
    env: { ...unconfiguredEnvironment(), ...nowhere, HOST: '::1', PORT: '1' },
  });
  await doctor.ended;
  assert.match(doctor.output(), /^FAIL +service +nothing answers at http:\/\/\[::1\]:1$/m);
});

test.run();
