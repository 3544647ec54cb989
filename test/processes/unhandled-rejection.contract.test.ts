import { pathToFileURL } from 'node:url';
import pg from 'pg';
import * as assert from 'uvu/assert';
import { Refusal } from '../../domain/refusal.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { createStoreClient } from '../../infra/eventstore/store-client.ts';
import { connectNats } from '../../infra/nats/connect.ts';
import { freePort } from '../../infra/supervision/ports.ts';
import { isOutage } from '../../infra/unhandled-rejection.ts';
import { root, startProgram } from '../fixtures/child-process.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

/** Ways to call a service on whose port nothing listens. */
const callsTo = (port: number): Readonly<Record<string, () => Promise<unknown>>> => ({
  'the event log': () => openLog(`esdb://127.0.0.1:${port}?tls=false`).ping(),
  'a search for a node of a cluster': () =>
    Array.fromAsync(createStoreClient(`esdb+discover://127.0.0.1:${port}?tls=false&maxDiscoverAttempts=1`).readAll()),
  Postgres: () => new pg.Client({ host: '127.0.0.1', port }).connect(),
  NATS: () => connectNats({ natsUrl: `nats://127.0.0.1:${port}`, natsAccountSeed: undefined }, { waitForServer: false }),
});

test('the error of a service that is down counts as an outage; any other error counts as a bug', async () => {
  for (const [service, call] of Object.entries(callsTo(await freePort()))) {
    const error = await call().then(
      () => null,
      (caught: unknown) => caught,
    );
    assert.ok(await isOutage(error), `${service}: ${error}`);
  }
  for (const code of ['unavailable', 'not_caught_up'] as const) assert.ok(await isOutage(new Refusal(code, 'a failed read')), code);
  const bugs = [
    new Refusal('conflict', 'a refusal that no caller got'),
    new TypeError('undefined is not a function'),
    new Error('something else'),
    Object.assign(new Error('x'), { code: '23505' }),
  ];
  for (const bug of [...bugs, undefined, 'text', null]) assert.not(await isOutage(bug), String(bug));
});

const FILE = pathToFileURL(`${root}/infra/unhandled-rejection.ts`).href;
const programOf = (error: string): string => `
  import { surviveOutages } from ${JSON.stringify(FILE)};
  surviveOutages((line) => { console.log(line); setTimeout(() => process.exit(0), 20); });
  setTimeout(() => process.exit(7), 20_000);
  void Promise.reject(${error});
`;

test('a rejection that nobody handles ends the process only if it is a bug', async () => {
  const endOf = async (error: string): Promise<{ code: unknown; output: string }> => {
    const program = startProgram(process.execPath, ['--input-type=module', '--eval', programOf(error)]);
    afterTest(() => program.stop('SIGKILL'));
    return { code: await program.ended, output: program.output() };
  };
  const [outage, bug] = await Promise.all([
    endOf("new Error('Failed to discover after 10 attempts.')"),
    endOf("new TypeError('this is a bug')"),
  ]);
  assert.equal(outage, {
    code: 0,
    output: 'a service is unavailable, and a background task failed: Failed to discover after 10 attempts.\n',
  });
  assert.is(bug.code, 1);
  assert.match(bug.output, /TypeError: this is a bug\n\s+at /);
});

test.run();
