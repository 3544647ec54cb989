import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Position, Recorded } from '../../domain/event.ts';
import { eventReader } from '../../infra/aggregates/events-at.ts';

const at = (offset: number): Position => ({ commit: BigInt(offset), prepare: BigInt(offset) });

/** Creates a log with events at these offsets. `damaged` are the offsets of events that cannot be read. */
const logOf = (offsets: readonly number[], damaged: readonly number[] = []) => {
  const requests: number[] = [];
  async function* readAll({ from, limit = Number.POSITIVE_INFINITY }: { from?: Position; limit?: number } = {}) {
    requests.push(Number(from!.commit));
    for (const offset of offsets.filter((one) => one >= Number(from!.commit)).slice(0, limit)) {
      if (damaged.includes(offset)) throw new Error(`the event at ${offset} is damaged`);
      yield { position: at(offset), event_id: `e${offset}` } as Recorded;
    }
  }
  return { log: { readAll }, requests };
};

const idsAt = async (log: Parameters<typeof eventReader>[0], offsets: readonly number[]) =>
  (await eventReader(log)(offsets.map(at))).map((event) => event?.event_id ?? null);

test('events that are close to each other in the log are read with one request, in the order of the positions', async () => {
  const { log, requests } = logOf([0, 500, 1_000, 1_500, 40_000, 40_700]);
  assert.equal(await idsAt(log, [40_700, 1_500, 0, 40_000]), ['e40700', 'e1500', 'e0', 'e40000']);
  assert.equal(requests, [0, 40_000]);
});

test('a position without an event gives null, and does not hide the events around it', async () => {
  const { log } = logOf([0, 500, 1_000]);
  assert.equal(await idsAt(log, [1_000, 700, 0]), ['e1000', null, 'e0']);
  assert.equal(await idsAt(log, []), []);
});

test('many small events between two positions, or one that cannot be read, do not hide the events at the positions', async () => {
  const small = logOf(Array.from({ length: 900 }, (_, n) => n * 10));
  assert.equal(await idsAt(small.log, [8_990, 0]), ['e8990', 'e0']);
  const broken = logOf([0, 500, 1_000], [500]);
  assert.equal(await idsAt(broken.log, [0, 1_000]), ['e0', 'e1000']);
});

test('if an event itself cannot be read, the error is thrown', async () => {
  const { log } = logOf([0, 500, 1_000], [500]);
  const error = await idsAt(log, [0, 500]).catch((thrown: Error) => thrown.message);
  assert.match(String(error), /the event at 500 is damaged/);
});

test.run();
