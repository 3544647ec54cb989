import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, is, match } from 'uvu/assert';
import { loadConfig } from '../../infra/config.ts';
import { clusterProblems } from '../../infra/processes/cluster-settings.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const SERVICES = {
  EVENTSTORE_URL: 'esdb://127.0.0.1:1,127.0.0.1:2?tls=false',
  DATABASE_URL: 'postgres://127.0.0.1:1/annals',
  NATS_URL: 'nats://127.0.0.1:1',
};
const REMOTE_NATS = 'nats://nats1.example.com,nats://nats2.example.com';
const PUBLIC = { PUBLIC_URL: 'https://annals.example.com' };
const FILES = { BLOBS_URL: 'file:///mnt/shared' };

const cases: readonly [what: string, env: Record<string, string>, variables: string[]][] = [
  ['no service has a URL', {}, []],
  ['one service is embedded', { ...SERVICES, NATS_URL: '' }, []],
  ['only the services are set', SERVICES, ['PUBLIC_URL', 'BLOBS_URL']],
  ['the public URL is missing', { ...SERVICES, ...FILES }, ['PUBLIC_URL']],
  ['the place for files is missing', { ...SERVICES, PUBLIC_URL: 'http://127.0.0.1:4100' }, ['BLOBS_URL']],
  ['runners get the address of this machine', { ...SERVICES, ...PUBLIC, ...FILES }, ['NATS_URL']],
  ['everything is set', { ...SERVICES, ...PUBLIC, ...FILES, NATS_URL: REMOTE_NATS }, []],
];

test('every setting that is right for one process only is reported if the services are external', () => {
  const { dir } = createTempDirectory();
  for (const [what, env, variables] of cases) {
    const found = clusterProblems(loadConfig({ ANNALS_DATA: dir, ...env }));
    equal(
      found.map(({ variable }) => variable),
      variables,
      what,
    );
    for (const { variable, message, advice } of found) {
      match(message, variable);
      match(advice, `set ${variable} on every annals serve and annals work`);
    }
  }
});

test('files in the data directory are reported, because other machines do not see them', () => {
  const { dir } = createTempDirectory();
  mkdirSync(join(dir, 'blobs'));
  const [problem] = clusterProblems(loadConfig({ ANNALS_DATA: dir, ...SERVICES, ...PUBLIC, NATS_URL: REMOTE_NATS }));
  is(problem!.variable, 'BLOBS_URL');
  match(problem!.message, `files are stored in ${join(dir, 'blobs')}`);
});

test.run();
