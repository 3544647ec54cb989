// limit: 300
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { test } from 'uvu';
import { equal, is, match, not } from 'uvu/assert';
import type { RunningPlatform } from '../faults/running-platform.ts';
import { mainFile, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { runningPlatform } from '../fixtures/running-platform.ts';

const onPlatform = runningPlatform();

const demo = async (env: NodeJS.ProcessEnv, ...words: string[]): Promise<{ code: unknown; output: string }> => {
  const running = startProgram(process.execPath, [mainFile, 'demo', ...words], { env: { ...unconfiguredEnvironment(), ...env } });
  return { code: await running.ended, output: running.output() };
};

const superAdminKey = async ({ data }: RunningPlatform): Promise<string> => {
  const running = startProgram(process.execPath, [mainFile, 'keys', 'create', '--super-admin'], {
    env: { ...unconfiguredEnvironment(), ANNALS_DATA: data },
  });
  is(await running.ended, 0, running.output());
  return /ann_\w+/.exec(running.output())![0];
};

/** Returns the names of the agents and integrations in the first tenant. */
const resourcesOf = async ({ url }: RunningPlatform, key: string): Promise<unknown[]> => {
  const get = async <T>(path: string) => (await (await fetch(url + path, { headers: { authorization: `Bearer ${key}` } })).json()) as T;
  const { tenants } = await get<{ tenants: { id: string }[] }>('/me');
  const path = `/tenant/${tenants[0]!.id}`;
  const lists = await Promise.all(
    ['agents', 'webhook-integrations'].map((name) => get<{ slug?: string; label?: string }[]>(`${path}/${name}`)),
  );
  return lists.flat().map(({ slug, label }) => slug ?? label);
};

const demoDirectories = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('annals-demo-'));

test('annals demo starts its own platform even if ANNALS_URL and ANNALS_KEY are set; with --on it uses the given platform and then deletes what it created', () =>
  onPlatform(async (platform) => {
    const key = await superAdminKey(platform);
    const before = [await resourcesOf(platform, key), demoDirectories()];
    const env = { ANNALS_URL: platform.url, ANNALS_KEY: key, ANNALS_DATA: platform.data, MASTER_KEY_FILE: '/nonexistent/master.key' };
    const alone = await demo(env);
    is(alone.code, 0, alone.output);
    match(alone.output, /^annals: the demo uses its own platform, http:/m);
    match(alone.output, 'The numbers agree');
    not.match(alone.output, platform.url);
    equal([await resourcesOf(platform, key), demoDirectories()], before);

    const there = await demo({ ANNALS_KEY: key }, '--on', platform.url);
    is(there.code, 0, there.output);
    match(there.output.split('\n')[0]!, `annals: the demo uses ${platform.url}, tenant c`);
    match(there.output, 'The numbers agree');
    equal([await resourcesOf(platform, key), demoDirectories()], before);
    is(existsSync('/nonexistent'), false);
  }));

test('if annals demo is interrupted on a running platform, it still deletes what it has created', () =>
  onPlatform(async (platform) => {
    const key = await superAdminKey(platform);
    const before = [await resourcesOf(platform, key), demoDirectories()];
    const running = startProgram(process.execPath, [mainFile, 'demo', '--on', platform.url], {
      env: { ...unconfiguredEnvironment(), ANNALS_KEY: key },
    });
    await running.waitForOutput(/the demo uses/);
    is(await running.stop('SIGINT'), 130);
    equal([await resourcesOf(platform, key), demoDirectories()], before);
  }));

test('annals demo --on reports a malformed URL and a missing ANNALS_KEY', async () => {
  const { code, output } = await demo({}, '--on', 'localhost:4100');
  is(code, 2);
  match(output, '--on must be a URL');
  const without = await demo({}, '--on', 'http://127.0.0.1:9');
  is(without.code, 1);
  match(without.output, 'ANNALS_KEY must be set');
});

test.run();
