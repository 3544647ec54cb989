// limit: 240 s for this file (test/run.ts)
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readLog, readMessageIds } from '../faults/final-state.ts';
import { type Answer, createSockets, post } from '../faults/load.ts';
import { type Platform, withPlatform } from '../faults/platform.ts';
import { startRunner } from '../faults/runners.ts';
import { ADMIN_KEY } from '../faults/running-platform.ts';
import { findText } from '../faults/secret-search.ts';
import { createDataset, type Hook } from '../faults/tenants.ts';
import { eventually } from '../fixtures/child-process.ts';

const COPIES = 100;
const ROUNDS = 10;
const ONE = { tenants: 1, agents: 1, hooks: 1 };

const logged = async (platform: Platform) => {
  const log = platform.openLog();
  return readLog(log, platform.eventOpener(log)).finally(() => log.close());
};

const messages = async (platform: Platform): Promise<string[]> => {
  const nats = await platform.connectNats();
  return readMessageIds(nats).finally(() => nats.close());
};

type Round = { readonly deliveryId: string; readonly answers: readonly Answer[] };

/** Sends 100 copies of one delivery at the same time, each on its own connection. */
const copies = async (bases: readonly string[], hook: Hook): Promise<Round> => {
  const sockets = createSockets();
  const deliveryId = randomUUID();
  const body = JSON.stringify({ delivery: deliveryId, text: 'y'.repeat(1_000) });
  const posts = Array.from({ length: COPIES }, (_, index) => post(bases[index % bases.length]!, sockets, { hook, deliveryId, body }));
  const answers = await Promise.all(posts);
  sockets.destroy();
  return { deliveryId, answers };
};

const numberOf = (kind: Answer['kind'], answers: readonly Answer[]): number => answers.filter((answer) => answer.kind === kind).length;

const checkRound = ({ answers }: Round): void => {
  const errors = answers.map(({ detail }) => detail).filter((detail) => detail !== '202' && detail !== '200');
  assert.equal([numberOf('accepted', answers), numberOf('duplicate', answers), errors], [1, COPIES - 1, []]);
};

/**
 * Sends ten deliveries, each in 100 simultaneous copies. Of each delivery, one copy must get 202 and the others 200,
 * all with the same id. Each delivery must lead to one event, one message and one effect of the runner's command.
 */
const checkCopies = async (platform: Platform, bases: readonly string[]): Promise<void> => {
  const { agents, hooks } = await createDataset(platform, ONE);
  const runner = await startRunner(platform, agents[0]!);
  const rounds: Round[] = [];
  // In the first round, the caches of all processes are still empty.
  while (rounds.length < ROUNDS) rounds.push(await copies(bases, hooks[0]!));
  for (const round of rounds) checkRound(round);
  const { deliveries } = await logged(platform);
  assert.equal(
    deliveries.map(({ deliveryId }) => deliveryId),
    rounds.map(({ deliveryId }) => deliveryId),
  );
  assert.equal(
    rounds.map(({ answers }) => [...new Set(answers.map(({ id }) => id))]),
    deliveries.map(({ id }) => [id]),
  );
  const events = deliveries.map(({ event_id }) => event_id);
  await eventually('the runner has processed every event', () => runner.effects().length >= rounds.length);
  assert.equal(runner.commandRuns(), events);
  assert.equal(await messages(platform), events);
};

test('a hundred simultaneous copies of a delivery lead to one event and one message; one copy gets 202, the others 200', () =>
  withPlatform((platform) => checkCopies(platform, [platform.url])));

test('a hundred simultaneous copies of a delivery, sent to four API processes, lead to one event and one message', () =>
  withPlatform(async (platform) => {
    const others = [await platform.startServeProcess(), await platform.startServeProcess(), await platform.startServeProcess()];
    await checkCopies(platform, [platform.url, ...others]);
  }));

/**
 * Returns the directories of the platform. This is the data directory and, if the user who runs PostgreSQL has no
 * access to it, the separate directory of the database.
 */
const directories = ({ data }: Platform): string[] => {
  const pathFile = join(data, 'postgres', 'place');
  return existsSync(pathFile) ? [data, readFileSync(pathFile, 'utf8').trim()] : [data];
};

test('a forged delivery is recorded with the reason of its rejection but without its body, and no file contains a secret or key in plain text', () =>
  withPlatform(async (platform) => {
    const mark = (): string => `mark${randomBytes(18).toString('hex')}`;
    const [forged, signed] = [mark(), mark()];
    const { tenants, agents, hooks } = await createDataset(platform, ONE);
    const [hook, agent] = [hooks[0]!, agents[0]!];
    const runner = await startRunner(platform, agent);
    const sockets = createSockets();
    const send = (text: string, signature?: string): Promise<Answer> =>
      post(platform.url, sockets, { hook, deliveryId: randomUUID(), body: JSON.stringify({ text }), ...(signature && { signature }) });

    assert.is((await send(signed)).kind, 'accepted');
    assert.match((await send(forged, `sha256=${'0'.repeat(64)}`)).detail, /^401 /);
    sockets.destroy();
    const list = `/tenant/${agent.tenant.id}/webhook-integrations/${hook.id}/deliveries`;
    const rejected = async () =>
      JSON.parse((await platform.call('GET', `${list}?outcome=rejected`, undefined, agent.tenant)).text) as Record<string, unknown>[];
    await eventually('the read model shows the rejection', async () => (await rejected()).length === 1);
    await eventually('the runner has processed its event', () => runner.effects().length === 1);
    const [{ reason, sha256 } = {}] = await rejected();
    assert.equal({ reason, sha256 }, { reason: 'signature_mismatch', sha256: null });
    const { types, deliveries } = await logged(platform);
    assert.is(types.get('WebhookRejected'), 1);
    assert.is(deliveries.length, 1);
    assert.is((await messages(platform)).length, 1);

    await platform.stop();
    const dirs = directories(platform);
    assert.match(findText(hook.id, dirs).join('\n'), /\/store\/.*plain/, 'the search finds what is in the log');
    const found = findText(signed, dirs);
    assert.match(found.join('\n'), /\/nats\/.*plain/, 'the search finds what is in the stream');
    assert.equal(
      found.filter((file) => !file.includes('/nats/')),
      [],
      'only the message to the runner has the body in plain text',
    );
    assert.match(findText('agent-0', dirs).join('\n'), /\/data\/(base|pg_wal)\/.*plain/, 'the search finds what is in Postgres');
    const secrets = { forged, secret: hook.secret, admin: ADMIN_KEY, owner: tenants[0]!.key, runner: agent.runnerKey };
    for (const [name, text] of Object.entries(secrets)) {
      assert.equal(findText(text, dirs), [], name);
      assert.not.ok(platform.output().includes(text) && name !== 'admin', `${name} was printed`);
    }
  }));

test.run();
