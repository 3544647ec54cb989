// limit: 120
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { STREAM } from '../domain/runner-credential.ts';
import { remembered } from '../infra/process.ts';
import { main, type Platform, withPlatform } from './faults/platform.ts';
import { eventually, program } from './process.ts';

const degraded = async ({ call }: Platform): Promise<string[]> =>
  (JSON.parse((await call('GET', '/readyz')).text) as { degraded: string[] }).degraded;

const named = (platform: Platform, ...what: string[]): Promise<void> =>
  eventually(`degraded: ${what}`, async () => (await degraded(platform)).join() === what.join());

/** What the doctor says of the worker. */
const examined = async ({ data, url }: Platform): Promise<string> => {
  const doctor = program(process.execPath, [main, 'doctor'], { env: { ...process.env, ANNALS_DATA: data, ANNALS_URL: url } });
  await doctor.ended;
  return (
    doctor
      .output()
      .split('\n')
      .find((line) => /^\S+ +worker /.test(line)) ?? doctor.output()
  );
};

test('a broker that does not take the messages is named by /readyz, and why by the doctor, until it takes them', () =>
  withPlatform(async (platform) => {
    await named(platform);
    await eventually('the worker leaves its first word', async () => /^ok .* was heard of \d/.test(await examined(platform)));
    const nats = await platform.connectNats();
    const { streams } = await nats.jetstreamManager();
    await streams.delete(STREAM);
    await streams.add({ name: STREAM, subjects: ['somebody.else'] });
    await platform.kill('work');
    await named(platform, 'delivery to runners');
    assert.match(await examined(platform), /^FAIL .*delivery to runners waits: the stream AGENTS on the broker is somebody else's/);
    await streams.delete(STREAM);
    await named(platform);
    await nats.close();
  }));

test('a worker of which nothing is heard is named until it is heard of again', () =>
  withPlatform(async (platform) => {
    await eventually('the worker leaves its first word', async () => /^ok /.test(await examined(platform)));
    const { pid } = remembered(join(platform.data, 'run', 'work.pid'))!;
    process.kill(pid, 'SIGSTOP');
    try {
      await named(platform, 'worker');
      assert.match(await examined(platform), /^FAIL .*none was heard of for 1\d s/);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await named(platform);
  }));

test.run();
