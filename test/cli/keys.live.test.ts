import { join } from 'node:path';
import { test } from 'uvu';
import { equal, is, match, not } from 'uvu/assert';
import { publicIdOf } from '../../domain/identity/api-key-format.ts';
import type { RunningPlatform } from '../faults/running-platform.ts';
import { eventually, mainFile, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { runningPlatform } from '../fixtures/running-platform.ts';

const onPlatform = runningPlatform();

type Result = { readonly code: number | string; readonly output: string };

const annals = async (words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Result> => {
  const running = startProgram(process.execPath, [mainFile, ...words], { env: { ...unconfiguredEnvironment(), ...env } });
  return { code: (await running.ended) as number, output: running.output() };
};

const on =
  ({ data }: RunningPlatform) =>
  (...words: string[]): Promise<Result> =>
    annals(words, { ANNALS_DATA: data });

const keyIn = ({ output }: Result): string => /^API key \(shown once\): (ann_\S+)$/m.exec(output)![1]!;
const idIn = ({ output }: Result): string => /^id, .*: (c[a-z0-9]{24})$/m.exec(output)![1]!;

const statusFor = async ({ url }: RunningPlatform, key: string): Promise<number> =>
  (await fetch(`${url}/admin/tenants`, { headers: { authorization: `Bearer ${key}` } })).status;

type Event = { type: string; metadata: { actor: { kind: string; id: string } } };

test('annals keys creates, lists and revokes an API key of a super-admin without using an API key; the log records the changes', () =>
  onPlatform(async (platform) => {
    const run = on(platform);
    const created = await run('keys', 'create', '--super-admin', '--name', 'Way back in');
    is(created.code, 0, created.output);
    const [key, id] = [keyIn(created), idIn(created)];
    is(await statusFor(platform, key), 200);

    const listed = await run('keys', 'list');
    is(listed.code, 0, listed.output);
    match(listed.output, new RegExp(`^created 20\\S+Z  used .*  Way back in  ${id}$`, 'm'));
    match(listed.output, / {2}First key {2}c[a-z0-9]{24}$/m);
    not.match(listed.output, key);

    equal(await run('keys', 'revoke', id), { code: 0, output: `revoked ${id}\n` });
    await eventually('the revoked key is refused', async () => (await statusFor(platform, key)) === 401);
    not.match((await run('keys', 'list')).output, id);
    const { code, output } = await run('keys', 'revoke', `c${'0'.repeat(24)}`);
    equal([code, output], [1, 'annals: There is no such API key\n']);

    const replayed = await run('replay');
    const events = replayed.output
      .trim()
      .split('\n')
      .filter((line) => line.includes(id))
      .map((line) => JSON.parse(line) as Event);
    const own = events.filter(({ metadata }) => metadata.actor.id === 'annals keys').map(({ type }) => type);
    equal(own, ['ApiKeyCreated', 'ApiKeyRevoked']);
  }));

test('annals keys works without the data directory of the platform if EVENTSTORE_URL, DATABASE_URL and MASTER_KEY_FILE are set', () =>
  onPlatform(async (platform) => {
    const { EVENTSTORE_URL, DATABASE_URL } = platform.serviceVariables();
    const env = {
      ANNALS_DATA: join(platform.dir, 'another'),
      MASTER_KEY_FILE: join(platform.data, 'master.key'),
      EVENTSTORE_URL,
      DATABASE_URL,
    };
    const created = await annals(['keys', 'create', '--super-admin'], env);
    is(created.code, 0, created.output);
    is(await statusFor(platform, keyIn(created)), 200);
    match((await annals(['keys', 'list'], env)).output, new RegExp(`  ${idIn(created)}$`, 'm'));
    is((await annals(['keys', 'revoke', idIn(created)], env)).code, 0);
    await eventually('the revoked key is refused', async () => (await statusFor(platform, keyIn(created))) === 401);
  }));

test('annals keys new prints another key for ANNALS_ADMIN_KEY each time', async () => {
  const [first, second] = [await annals(['keys', 'new']), await annals(['keys', 'new'])].map(({ output }) => output.trim());
  for (const key of [first!, second!]) is(publicIdOf(key)?.length, 8, key);
  not.equal(first, second);
});

test('annals keys prints an error that names the argument that is missing or unexpected', async () => {
  for (const [words, wrong] of [
    [['keys', 'create'], '--super-admin is missing'],
    [['keys', 'create', '--super-admin', '--name'], '--name needs a value'],
    [['keys', 'revoke'], 'ID'],
    [['keys', 'new', 'extra'], 'Unexpected argument extra'],
  ] as const) {
    const { code, output } = await annals(words);
    is(code, 2, output);
    match(output, wrong);
  }
});

test.run();
