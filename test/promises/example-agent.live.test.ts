// limit: 240 s for this file (test/run.ts)
import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { test } from 'uvu';
import { equal, is, match, not, ok } from 'uvu/assert';
import { expectReply } from '../faults/running-platform.ts';
import { createTenant, type Tenant } from '../faults/tenants.ts';
import { eventually, type Program, root, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { blocksOf, exampleOf } from '../fixtures/documents.ts';
import { type LentPlatform, lentPlatform } from '../fixtures/running-platform.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { tourDefinitions } from './tour-script.ts';

const onPlatform = lentPlatform();
const ROWS = 3;

/** Creates the database that the page asks for. @returns the variables that tell of it */
const createOrders = async (): Promise<NodeJS.ProcessEnv> => {
  const connectionString = await freshDatabase();
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(`create table orders as select generate_series(1, ${ROWS}) as id`).finally(() => client.end());
  const { hostname, port, pathname, username, password } = new URL(connectionString);
  const login = { PGUSER: decodeURIComponent(username), PGPASSWORD: decodeURIComponent(password) || 'none' };
  return { ...login, PGHOST: hostname, PGPORT: port || '5432', PGDATABASE: pathname.slice(1), PGSSLMODE: 'disable' };
};

type Reader = { readonly tenant: Tenant; readonly agent: string; readonly variables: NodeJS.ProcessEnv };

/** Starts commands in the directory of the reader, whose PATH has what the tour calls `node`. */
const startShell = ({ dir }: LentPlatform, commands: string, variables: NodeJS.ProcessEnv): Program => {
  const env = { ...unconfiguredEnvironment(), PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}`, NO_COLOR: '1', ...variables };
  return startProgram('bash', ['--norc', '-e', '-c', commands], { cwd: dir, env: { ...env, NO_PROXY: '127.0.0.1' } });
};

/** Runs commands after those of the tour that define its short commands. @returns what they print */
const run = async (platform: LentPlatform, commands: readonly string[], variables: NodeJS.ProcessEnv): Promise<string> => {
  const [functions] = tourDefinitions().split('\nTENANT=');
  const running = startShell(platform, [functions, ...commands].join('\n'), variables);
  is(await running.ended, 0, running.output());
  return running.output();
};

/** Does what the page says up to the start of a runner. @returns the variables of the runner's terminal */
const giveAgent = async (platform: LentPlatform, { tenant, agent, variables }: Reader): Promise<NodeJS.ProcessEnv> => {
  const printed = await run(platform, blocksOf('Give the agent what it needs'), { ...variables, ...(await createOrders()) });
  // A reader takes longer than a script to start the runner: by then, the search finds the memory entry.
  const search = `/tenant/${tenant.id}/agents/${agent}/memory?q=release`;
  await eventually('the memory is found', async () => (await platform.call('GET', search, undefined, tenant)).text.includes('river'));
  const [, url, key] = /^export ANNALS_URL=(\S+) ANNALS_KEY=(ann_\w+)$/m.exec(printed) ?? [];
  return { ANNALS_URL: url, ANNALS_KEY: key };
};

/** Starts a session as the page does. @returns the answer of the agent, when it is there */
const answerTo = async (platform: LentPlatform, { tenant, variables }: Reader, runner: Program): Promise<string> => {
  const [session] = /(?<="session":\{"id":"|"id":")c\w{24}/.exec(await run(platform, blocksOf('Ask the agent'), variables)) ?? [];
  let answer = '';
  await eventually('the agent answers', async () => {
    const { text } = await platform.call('GET', `/tenant/${tenant.id}/sessions/${session}`, undefined, tenant);
    const { messages = [] } = JSON.parse(text) as { messages?: { role: string; content: string }[] };
    answer = messages
      .filter(({ role }) => role === 'assistant')
      .map(({ content }) => content)
      .join('\n---\n');
    return answer !== '';
  }).catch((error: Error) => {
    throw new Error(`${error.message}\n${runner.output()}`);
  });
  return answer;
};

const hasPsycopg = (): boolean => spawnSync('python3', ['-c', 'import psycopg']).status === 0;

/**
 * Sends the runner, before it starts, what it must not answer: a session without a message, which is interrupted, and a
 * question in a session that has been cancelled since.
 */
const sendUnanswerable = async ({ call }: LentPlatform, { tenant, agent }: Reader): Promise<void> => {
  const path = `/tenant/${tenant.id}`;
  const start = (body: object) => expectReply<{ id: string }>(call('POST', `${path}/agents/${agent}/sessions`, body, tenant));
  for (const [body, end] of [
    [{ title: 'Quiet' }, 'interrupt'],
    [{ message: { content: 'How is a release named?' } }, 'cancel'],
  ] as const) {
    const { id } = await start(body);
    const { status, text } = await call('POST', `${path}/sessions/${id}/${end}`, undefined, tenant);
    ok(status < 300, text);
  }
};

type Example = {
  readonly language: string;
  /** The language of its code block. */
  readonly code: string;
  readonly file: string;
  /** A command that succeeds if what the runner needs is installed. */
  readonly needs: readonly [string, string];
  /** What it answers about the database. */
  readonly orders: () => string;
};

const RUNNERS: readonly Example[] = [
  { language: 'TypeScript', code: 'ts', file: 'agent.ts', needs: ['unzip', '-v'], orders: () => `${ROWS}` },
  {
    ...{ language: 'Python', code: 'python', file: 'agent.py', needs: ['python3', '--version'] },
    orders: () => (hasPsycopg() ? `${ROWS}` : 'unknown, because psycopg is not installed'),
  },
];

const isInstalled = ([command, option]: Example['needs']): boolean => spawnSync(command, [option]).status === 0;

const newReader = async (platform: LentPlatform): Promise<Reader> => {
  const tenant = await createTenant(platform);
  const made = platform.call('POST', `/tenant/${tenant.id}/agents`, { name: 'Reviewer', slug: 'reviewer' }, tenant);
  const { id: agent } = await expectReply<{ id: string }>(made);
  return { tenant, agent, variables: { ANNALS_URL: platform.url, ANNALS_KEY: tenant.key, TENANT: tenant.id, AGENT: agent } };
};

test('both runners of the example answer a person with the memory, the result of the script and the number of orders', () =>
  onPlatform(async (platform) => {
    mkdirSync(join(platform.dir, 'node_modules'));
    symlinkSync(root, join(platform.dir, 'node_modules', 'annals-client'));
    for (const name of ['infra', 'package.json', 'node_modules/.bin', 'node_modules/pg'])
      symlinkSync(join(root, name), join(platform.dir, name));
    const reader = await newReader(platform);
    const terminal = await giveAgent(platform, reader);
    match(String(terminal.ANNALS_KEY), /^ann_/);
    for (const { language, code, file, orders, needs } of RUNNERS) {
      if (!isInstalled(needs)) {
        console.log(`${needs[0]} is not installed: the runner in ${language} is skipped`);
        continue;
      }
      writeFileSync(join(platform.dir, file), exampleOf(code, 'scripts/count.sh'));
      await sendUnanswerable(platform, reader);
      const runner = startShell(platform, `exec ${blocksOf(`The answering runner in ${language}`)[0]}`, terminal);
      platform.stopOnClose(runner);
      const words = ['Memory: A release is named after a river.', 'Words: 5', `Orders: ${orders()}`];
      equal((await answerTo(platform, reader, runner)).split('\n'), words, language);
      await runner.stop();
      not.match(runner.output(), /fail|ended with/, language);
    }
  }));

test.run();
