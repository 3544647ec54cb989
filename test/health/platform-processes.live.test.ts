import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { expectReply, type RunningPlatform } from '../faults/running-platform.ts';
import { eventually } from '../fixtures/child-process.ts';
import { runningPlatform } from '../fixtures/running-platform.ts';

type Process = { readonly name: string; readonly kind: string; readonly state: string; readonly build: string | null };

const withPlatform = runningPlatform();

/** Returns the running processes in the report of Health, except these. */
const processesIn = async ({ call }: RunningPlatform, except: readonly Process[] = []): Promise<Process[]> => {
  const { processes } = await expectReply<{ processes: Process[] }>(call('GET', '/admin/health'), 200);
  return processes.filter(({ name, state }) => state === 'running' && !except.some((each) => each.name === name));
};

const kindsOf = (processes: readonly Process[]): string =>
  processes
    .map(({ kind }) => kind)
    .sort()
    .join();

test('Health lists a second serve and a second work of the same services while they run, with the same build', () =>
  withPlatform(async (platform) => {
    await eventually('the platform is listed', async () => kindsOf(await processesIn(platform)) === 'serve,work');
    const first = await processesIn(platform);
    await platform.startServeProcess();
    const worker = await platform.startWorkProcess(/"working"/);
    await eventually('both are listed', async () => kindsOf(await processesIn(platform, first)) === 'serve,work');
    const all = await processesIn(platform);
    assert.is(new Set(all.map(({ build }) => build)).size, 1, JSON.stringify(all));
    await worker.stop();
    await eventually('a worker that has ended is not listed', async () => kindsOf(await processesIn(platform, first)) === 'serve');
  }));

test.run();
