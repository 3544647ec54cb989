import { randomBytes } from 'node:crypto';
import { equal, match } from 'uvu/assert';
import { checkSpool } from '../../infra/health/spool-check.ts';
import { spoolDirectory } from '../../infra/spool/spool-slots.ts';
import { openSpoolStorage } from '../../infra/spool/spool-storage.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const key = { kid: 'kid', key: randomBytes(32) };
const entry = (delivery: string) => ({
  tenant: 't',
  integration: 'i',
  delivery,
  eventId: delivery,
  at: Date.now() - 60_000,
  facts: '{}',
  body: new Uint8Array(1),
});

test('annals doctor reports whether deliveries wait in the spool, whether a process records them, and whether any of them were refused', async () => {
  const { dir } = createTempDirectory();
  const found = async () => {
    const { level, message } = await checkSpool(dir, 'start it');
    return [level, message.replace(/\d+ s/, 'N s')];
  };
  equal((await found())[0], 'none');
  const storage = openSpoolStorage({ dir: spoolDirectory(dir), key });
  equal(await found(), ['ok', 'empty']);
  storage.put([entry('a'), entry('b')]);
  equal(await found(), ['warn', '2 deliveries in the spool, the oldest for N s']);
  const [first] = storage.first({ rows: 1, bytes: 1 }, () => {});
  storage.park(first!.seq, 'refused');
  equal(await found(), ['fail', 'the event store has refused 1 delivery, which the spool keeps']);
  storage.remove([first!.seq]);
  storage.close();
  const [level, message] = await found();
  equal(level, 'warn');
  match(message!, /^1 delivery in the spool.*; 1 of them in a file that no process uses$/);
});

test.run();
