import { randomUUID } from 'node:crypto';
import { type AppendResult, type EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { clientOf } from '../fixtures/store-client.ts';
import {
  append,
  type Expected,
  emptyModel,
  type Metadata,
  type Model,
  race,
  read,
  remove,
  setMetadata,
  tombstone,
} from '../fixtures/store-model.ts';
import { type StoreProcess, startStore } from '../fixtures/store-process.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const CLIENTS = 3;
const STREAMS = ['a', 'b', 'c'];

/** The store under test, with its clients. `prefix` is the beginning of all stream names, and differs in each run. */
type Real = { store: StoreProcess; clients: EventStoreDBClient[]; prefix: string };

const uuid = (prefix: string, label: string): string => {
  const hex = Buffer.from(prefix + label.padStart(12, '0'))
    .toString('hex')
    .padEnd(32, '0')
    .slice(-32);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
};
const event = (real: Real, label: string) => jsonEvent({ id: uuid(real.prefix, label), type: 'happened', data: { label } });

const failure = (error: { type: string; actualVersion?: bigint | string }): string => {
  if (error.type !== 'wrong-expected-version') return error.type;
  return `wrong-expected-version, is ${error.actualVersion === 'no_stream' ? -1n : error.actualVersion}`;
};

const appended = (real: Real, client: number, name: string, ids: string[], expectedRevision: Expected): Promise<string> =>
  real.clients[client]!.appendToStream(
    real.prefix + name,
    ids.map((id) => event(real, id)),
    { expectedRevision },
  ).then((result: AppendResult) => `done ${result.nextExpectedRevision}`, failure);

const readBack = async (real: Real, client: number, name: string): Promise<string[] | string> => {
  const found: string[] = [];
  try {
    for await (const { event: each } of real.clients[client]!.readStream(real.prefix + name))
      found.push(`${each!.revision} ${(each!.data as { label: string }).label}`);
    return found;
  } catch (error) {
    return failure(error as { type: string });
  }
};

let serial = 0;
const newIds = (count: number): string[] => Array.from({ length: count }, () => String(serial++));

type Command = fc.AsyncCommand<Model, Real>;
const command = (name: string, run: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run,
  toString: () => name,
});

const anyClient = fc.nat(CLIENTS - 1);
const anyStream = fc.constantFrom(...STREAMS);
/**
 * Returns the expected revision for an append. `choice` (0 to 9) selects it: any, no_stream, stream_exists, the
 * revision after or before the stream's last one, or (from 5) the last revision itself.
 */
const expectedOf = (model: Model, name: string, choice: number): Expected => {
  const last = BigInt((model.streams.get(name)?.ids.length ?? 0) - 1);
  if (choice < 3) return (['any', 'no_stream', 'stream_exists'] as const)[choice]!;
  const at = last + BigInt(choice === 3 ? 1 : choice === 4 ? -1 : 0);
  return at < 0n ? 'no_stream' : at;
};

const appends = fc.tuple(anyClient, anyStream, fc.nat(9), fc.integer({ min: 1, max: 3 })).map(([client, name, choice, count]) =>
  command(`append ${count} to ${name} (${choice})`, async (model, real) => {
    const expected = expectedOf(model, name, choice);
    const ids = newIds(count);
    const answer = await appended(real, client, name, ids, expected);
    assert.is(answer, append(model, name, ids, expected));
    if (answer.startsWith('done') && expected !== 'any' && expected !== 'stream_exists') model.lastAppend = { stream: name, ids, expected };
  }),
);

const repeats = anyClient.map((client) =>
  command('repeat the last append', async (model, real) => {
    if (!model.lastAppend) return;
    const { stream, ids, expected } = model.lastAppend;
    assert.is(await appended(real, client, stream, ids, expected), append(model, stream, ids, expected));
  }),
);

const races = fc.tuple(anyStream, fc.nat(9)).map(([name, choice]) =>
  command(`race in ${name} (${choice})`, async (model, real) => {
    const expected = expectedOf(model, name, choice === 2 ? 0 : choice);
    const ids = newIds(CLIENTS);
    const outcome = race(model, name, expected, ids);
    const answers = await Promise.all(ids.map((id, client) => appended(real, client, name, [id], expected)));
    const winners = ids.filter((_, i) => answers[i]!.startsWith('done'));
    assert.is(winners.length, { one: 1, all: CLIENTS, none: 0 }[outcome]);
    const inOrder = winners.sort((a, b) => revisionIn(answers, ids, a) - revisionIn(answers, ids, b));
    for (const id of inOrder) append(model, name, [id], expected);
  }),
);
const revisionIn = (answers: string[], ids: string[], id: string): number => Number(answers[ids.indexOf(id)]!.slice(5));

const reads = fc
  .tuple(anyClient, anyStream)
  .map(([client, name]) =>
    command(`read ${name}`, async (model, real) => assert.equal(await readBack(real, client, name), read(model, name))),
  );

const removals = fc.tuple(anyClient, anyStream).map(([client, name]) =>
  command(`delete ${name}`, async (model, real) => {
    const answer = await real.clients[client]!.deleteStream(real.prefix + name).then(
      () => 'deleted',
      (error) => error.type,
    );
    assert.is(answer, remove(model, name));
  }),
);

const tombstones = anyClient.map((client) =>
  command('tombstone c', async (model, real) => {
    const answer = await real.clients[client]!.tombstoneStream(`${real.prefix}c`).then(
      () => 'tombstoned',
      (error) => error.type,
    );
    assert.is(answer, tombstone(model, 'c'));
  }),
);

const anyMetadata: fc.Arbitrary<Metadata> = fc.record(
  { truncateBefore: fc.nat(6), maxCount: fc.integer({ min: 1, max: 5 }) },
  { requiredKeys: [] },
);
const metadataSets = fc.tuple(anyClient, fc.constantFrom('a', 'b'), anyMetadata).map(([client, name, metadata]) =>
  command(`set ${JSON.stringify(metadata)} on ${name}`, async (model, real) => {
    const { truncateBefore, maxCount } = metadata;
    await real.clients[client]!.setStreamMetadata(real.prefix + name, {
      ...(truncateBefore === undefined ? {} : { truncateBefore }),
      ...(maxCount === undefined ? {} : { maxCount }),
    });
    setMetadata(model, name, metadata);
  }),
);

const restarts = fc.constantFrom<NodeJS.Signals>('SIGTERM', 'SIGKILL').map((signal) =>
  command(`restart after ${signal}`, async (_model, real) => {
    await real.store.end(signal);
    for (const client of real.clients) await client.dispose();
    real.store = await startStore({ dir: real.store.dir });
    real.clients = Array.from({ length: CLIENTS }, () => clientOf(real.store));
  }),
);

const everything = async (real: Real): Promise<string[]> => {
  const found: string[] = [];
  for await (const { event: each } of real.clients[0]!.readAll()) {
    if (!each?.streamId.startsWith(real.prefix)) continue;
    const label = each.type === '$streamDeleted' ? 'tombstone' : (each.data as { label: string }).label;
    found.push(`${each.streamId.slice(real.prefix.length)} ${label}`);
  }
  return found;
};

test('for random commands of several clients and random restarts, the event store returns the same results as a simple model of it', async () => {
  const store = await startStore();
  const shared: Real = { store, clients: Array.from({ length: CLIENTS }, () => clientOf(store)), prefix: '' };
  const commands = fc.commands([appends, appends, appends, repeats, races, reads, reads, removals, tombstones, metadataSets, restarts], {
    maxCommands: 40,
    size: 'max',
  });
  const compareWithModel = async (all: Iterable<Command>): Promise<void> => {
    const model = emptyModel();
    shared.prefix = `${randomUUID().slice(0, 8)}-`;
    await fc.asyncModelRun(() => ({ model, real: shared }), all);
    for (const name of STREAMS) assert.equal(await readBack(shared, 1, name), read(model, name));
    assert.equal(await everything(shared), model.log);
  };
  // When its time limit is reached, fast-check does not wait for the run in progress. Wait for this run before stopping
  // the store.
  let running = Promise.resolve();
  const property = fc.asyncProperty(commands, (all) => {
    running = compareWithModel(all);
    return running;
  });
  await fc.assert(property, { numRuns: 25, endOnFailure: false, interruptAfterTimeLimit: 30_000 });
  await running;
  for (const client of shared.clients) await client.dispose();
  assert.is(await shared.store.end(), 0);
});

test.run();
