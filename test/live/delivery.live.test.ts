// limit: 240 s for this file (test/run.ts)
import { randomUUID } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { inboundSubject } from '../../domain/runners/cloud-event.ts';
import type { LoggedDelivery } from '../faults/checker.ts';
import { readLog, readMessageIds } from '../faults/final-state.ts';
import { type Answer, createSockets, post } from '../faults/load.ts';
import { startRunner } from '../faults/runners.ts';
import type { RunningPlatform } from '../faults/running-platform.ts';
import { type Agent, createDataset, type Hook } from '../faults/tenants.ts';
import { eventually } from '../fixtures/child-process.ts';
import { repeatIfBusy } from '../fixtures/load-factor.ts';
import { runningPlatform } from '../fixtures/running-platform.ts';

const COPIES = 100;
const ROUNDS = 3;
const ONE = { tenants: 1, agents: 1, hooks: 1 };

const onPlatform = runningPlatform();

/** Returns the deliveries of an integration that are in the log. */
const logged = async (platform: RunningPlatform, { id }: Hook): Promise<LoggedDelivery[]> => {
  const log = platform.openLog();
  const { deliveries } = await readLog(log, platform.eventOpener(log)).finally(() => log.close());
  return deliveries.filter(({ hookId }) => hookId === id);
};

/** Returns the ids of the messages that the broker has for an agent, in their order. */
const messages = async (platform: RunningPlatform, { tenant, id }: Agent): Promise<string[]> => {
  const nats = await platform.connectNats();
  return readMessageIds(nats, inboundSubject(tenant.id, id)).finally(() => nats.close());
};

type Round = { readonly deliveryId: string; readonly answers: readonly Answer[] };

/** Sends 100 copies of one delivery at the same time, each on its own connection. */
const copies = async ({ url }: RunningPlatform, hook: Hook): Promise<Round> => {
  const sockets = createSockets();
  const deliveryId = randomUUID();
  const body = JSON.stringify({ delivery: deliveryId, text: 'y'.repeat(1_000) });
  const posts = Array.from({ length: COPIES }, () => post(url, sockets, { hook, deliveryId, body }));
  const answers = await Promise.all(posts);
  sockets.destroy();
  return { deliveryId, answers };
};

const numberOf = (kind: Answer['kind'], answers: readonly Answer[]): number => answers.filter((answer) => answer.kind === kind).length;

const checkRound = ({ answers }: Round): void => {
  const errors = answers.map(({ detail }) => detail).filter((detail) => detail !== '202' && detail !== '200');
  assert.equal([numberOf('accepted', answers), numberOf('duplicate', answers), errors], [1, COPIES - 1, []]);
};

// test/live/delivery-identity.faults.test.ts sends the copies to four processes.

// On a busy machine, the event store can be so slow that a delivery is accepted into the spool. A copy of it can then be
// accepted, too, and both lead to one event. The check is therefore repeated there.

/**
 * Sends some deliveries, each in 100 simultaneous copies. For each delivery, one copy must get 202 and the others 200,
 * all with the same id. Each delivery must lead to one event, one message and one effect of the runner's command.
 */
const checkCopies = async (platform: RunningPlatform): Promise<void> => {
  const { agents, hooks } = await createDataset(platform, ONE);
  const runner = await startRunner(platform, agents[0]!);
  const rounds: Round[] = [];
  // In the first round, the caches of the process are still empty.
  while (rounds.length < ROUNDS) rounds.push(await copies(platform, hooks[0]!));
  for (const round of rounds) checkRound(round);
  const deliveries = await logged(platform, hooks[0]!);
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
  assert.equal(await messages(platform, agents[0]!), events);
};

test('a hundred simultaneous copies of a delivery lead to one event and one message; one copy gets 202, the others 200', () =>
  onPlatform((platform) => repeatIfBusy(() => checkCopies(platform))));

test.run();
