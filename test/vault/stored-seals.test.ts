import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { sealedWith } from '../../domain/sealed-data.ts';
import { openEventOpener } from '../../infra/vault/event-opener.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { storedEvents } from '../fixtures/stored-events.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const TENANT = 'cmzretuj6pyb123w6yf35629l';

/**
 * Returns a function that decrypts the stored sample events of a tenant. It uses the master key that encrypted the
 * tenant's data key.
 */
const storedOpener = async () => {
  const log = memoryLog();
  for (const { stream, event_id: id, type, data, meta } of storedEvents.filter((event) => event.stream === `key-${TENANT}.vault`))
    await log.append(stream, 'none', [{ id, type, data, meta }]);
  const masterKeyFile = join(createTempDirectory().dir, 'master.key');
  writeFileSync(masterKeyFile, createHash('sha256').update('the master key of the stored events').digest());
  return openEventOpener({ log, masterKeyFile }).openEvent;
};

test('bodies and chunks that an earlier version encrypted can be decrypted', async () => {
  const openEvent = await storedOpener();
  const sealed = storedEvents.filter(sealedWith);
  const texts = await Promise.all(sealed.map(async (event) => Buffer.from((await openEvent(event)).data as Uint8Array).toString()));
  assert.equal(texts, ['{"n":2}', 'a part of a sealed body']);
});

test('events that an earlier version stored without encryption can be read', async () => {
  const openEvent = await storedOpener();
  const clear = storedEvents.filter((event) => event.data instanceof Uint8Array && !sealedWith(event));
  assert.ok(clear.length >= 5);
  for (const event of clear) assert.is(await openEvent(event), event);
});

test.run();
