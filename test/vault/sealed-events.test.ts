import { createSecretKey, randomBytes, randomUUID } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Recorded } from '../../domain/event.ts';
import { streamName } from '../../domain/event.ts';
import type { Refusal } from '../../domain/refusal.ts';
import { type Log, LogError } from '../../infra/eventstore/event-log.ts';
import { openEventOpener } from '../../infra/vault/event-opener.ts';
import { createKeyReporter } from '../../infra/vault/key-reporter.ts';
import { type BytesEvent, ContentUnreadable, createSealedEvents, type EventPlace } from '../../infra/vault/sealed-events.ts';
import { openVault } from '../../infra/vault/vault.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const PLACE: EventPlace = { tenant: 'acme', category: 'delivery', id: 'd1' };
const TEXT = 'canary in a body';
const actor = { kind: 'system', id: 'test' } as const;

const eventOf = (text = TEXT, id: string = randomUUID()): BytesEvent => ({
  id,
  type: 'WebhookAccepted',
  data: Buffer.from(text),
  meta: { tenant: PLACE.tenant, actor, at: '2026-11-22T10:00:00.000Z', v: 1, facts: { sha256: 'of the received bytes' } },
});

/** Returns the event as a read of its stream returns it. */
const recorded = ({ id: event_id, type, data, meta }: BytesEvent, place = PLACE): Recorded => ({
  ...place,
  type,
  data,
  event_id,
  stream: streamName(place.category, place.tenant, place.id),
  revision: 0,
  position: { commit: 1n, prepare: 1n },
  at: meta.at,
  actor,
  meta,
});

const textOf = ({ data }: Recorded): string => Buffer.from(data as Uint8Array).toString();

const reasonOf = async (work: () => unknown): Promise<string> => {
  try {
    await work();
  } catch (error) {
    if (error instanceof ContentUnreadable) return error.reason;
    throw error;
  }
  return 'opened';
};

const given = async () => {
  const log = memoryLog();
  const masterKeyFile = join(createTempDirectory().dir, 'master.key');
  return { log, masterKeyFile, vault: await openVault({ log, masterKeyFile }) };
};

/** Wraps a log so that reads of the tenant's key stream are handled by `read`. */
const withKeyStream = (log: Log, read: Log['read']): Log => ({
  ...log,
  read: (stream, options) => (stream === 'key-acme.vault' ? read(stream, options) : log.read(stream, options)),
});

const erased = (log: Log): Log =>
  withKeyStream(log, () => {
    throw new LogError('gone', 'tombstoned');
  });

test('encrypting the data of an event adds 28 bytes; this process and others decrypt them to the same data', async () => {
  const { log, masterKeyFile, vault } = await given();
  const sealed = await vault.sealEvent(PLACE, eventOf());
  assert.is(sealed.data.length, TEXT.length + 28);
  assert.not.ok(Buffer.from(sealed.data).includes('canary'));
  const { sealed: how, ...facts } = sealed.meta.facts as { sealed: { v: number; kid: string } };
  assert.equal([how.v, facts], [1, { sha256: 'of the received bytes' }]);
  for (const { openEvent } of [vault, await openVault({ log, masterKeyFile }), openEventOpener({ log, masterKeyFile })]) {
    const opened = await openEvent(recorded(sealed));
    assert.is(textOf(opened), TEXT);
    assert.equal(opened.meta, eventOf().meta, 'an opened event no longer says that it is sealed');
  }
});

test('encrypting the same event data twice gives different results', async () => {
  const { vault } = await given();
  const event = eventOf();
  const sealed = await Promise.all(Array.from({ length: 600 }, () => vault.sealEvent(PLACE, event)));
  assert.is(new Set(sealed.map(({ data }) => Buffer.from(data).toString('hex'))).size, 600);
});

test('while the data key is in memory, encrypting and decrypting return their result at once, and not as a promise', async () => {
  const { vault } = await given();
  await vault.sealEvent(PLACE, eventOf());
  const sealed = vault.sealEvent(PLACE, eventOf());
  assert.not.instance(sealed, Promise);
  await vault.openEvent(recorded(sealed as BytesEvent));
  assert.not.instance(vault.openEvent(recorded(sealed as BytesEvent)), Promise);
});

test('decrypting returns unencrypted data of older events, and empty data, unchanged', async () => {
  const { vault } = await given();
  const clear = recorded(eventOf());
  assert.is(await vault.openEvent(clear), clear);
  const empty = await vault.sealEvent(PLACE, eventOf(''));
  assert.equal([empty.data.length, empty.meta.facts!.sealed], [0, undefined]);
});

test('decrypting fails if any bit of the encrypted data was changed, if bytes are missing at the end, or if a byte was appended', async () => {
  const { vault } = await given();
  const sealed = await vault.sealEvent(PLACE, eventOf());
  const damaged = [
    ...Array.from({ length: sealed.data.length * 8 }, (_, bit) => {
      const data = Uint8Array.from(sealed.data);
      data[bit >> 3]! ^= 1 << (bit & 7);
      return data;
    }),
    ...Array.from({ length: sealed.data.length }, (_, length) => sealed.data.slice(0, length)),
    Buffer.concat([sealed.data, Buffer.alloc(1)]),
  ];
  for (const data of damaged) assert.is(await reasonOf(() => vault.openEvent(recorded({ ...sealed, data }))), 'damaged');
  assert.is(textOf(await vault.openEvent(recorded(sealed))), TEXT);
});

test('if encrypted data were moved to another tenant, category, stream or event, decrypting them fails, even with the same key', async () => {
  const key = { kid: 'k', key: createSecretKey(randomBytes(32)) };
  const { sealEvent, openEvent } = createSealedEvents(() => key);
  const places = ['acme', 'acm'].flatMap((tenant) =>
    ['delivery', 'edelivery'].flatMap((category) => ['d1', 'd12'].map((id) => ({ tenant, category, id }))),
  );
  const ids = [randomUUID(), randomUUID()];
  const cases = places.flatMap((place) => ids.map((id) => ({ place, id })));
  const sealed = await Promise.all(cases.map(({ place, id }) => sealEvent(place, eventOf(TEXT, id))));
  for (const [n, { place, id }] of cases.entries())
    for (const [m, event] of sealed.entries())
      assert.is(await reasonOf(() => openEvent(recorded({ ...event, id }, place))), n === m ? 'opened' : 'damaged');
});

test('decrypting an event of a tenant with the data key of another tenant fails', async () => {
  const { vault } = await given();
  const other = { ...PLACE, tenant: 'other' };
  await vault.sealEvent(other, eventOf());
  const sealed = await vault.sealEvent(PLACE, eventOf());
  assert.is(await reasonOf(() => vault.openEvent(recorded(sealed, other))), 'key');
});

test("after the key stream of a tenant is deleted, reading the tenant's events reports them as erased, and encrypting anything new fails", async () => {
  const { log, masterKeyFile, vault } = await given();
  const sealed = recorded(await vault.sealEvent(PLACE, eventOf()));
  const after = await openVault({ log: erased(log), masterKeyFile });
  assert.is(await reasonOf(() => after.openEvent(sealed)), 'erased');
  const error = await Promise.resolve(after.sealEvent(PLACE, eventOf())).catch((thrown: LogError) => thrown);
  assert.is((error as LogError).kind, 'gone');
});

test('while a data key cannot be decrypted, encrypting fails, and the failure is logged once; when the key is restored, encrypting works again', async () => {
  const { log, masterKeyFile, vault } = await given();
  const sealed = recorded(await vault.sealEvent(PLACE, eventOf()));
  let isDamaged = true;
  const changing = withKeyStream(log, async function* (stream, options) {
    for await (const event of log.read(stream, options)) {
      const { kid, wrapped } = event.data as { kid: string; wrapped: string };
      yield isDamaged ? { ...event, data: { kid, wrapped: `${wrapped.slice(0, -3)}AAA` } } : event;
    }
  });
  const lines: unknown[] = [];
  const reporter = createKeyReporter({ error: (...line: unknown[]) => void lines.push(line) } as never);
  const after = await openVault({ log: changing, masterKeyFile, reportKeys: reporter.report });
  for (let n = 0; n < 2; n++) {
    const refused = await Promise.resolve(after.sealEvent(PLACE, eventOf())).catch((error: Refusal) => error);
    assert.equal([(refused as Refusal).code, (refused as Refusal).extra.retryAfter], ['unavailable', 30]);
    assert.is(await reasonOf(() => after.openEvent(sealed)), 'key');
  }
  assert.equal([lines.length, reporter.degradedParts()], [1, ['data keys (of 1 tenant)']]);
  assert.match(JSON.stringify(lines), /key-acme\.vault is damaged: restore the event store from a backup/);
  isDamaged = false;
  assert.is(textOf(await after.openEvent(sealed)), TEXT);
  assert.equal(reporter.degradedParts(), []);
});

test('while the log is down, an event whose key cannot be loaded is not reported as unreadable; afterwards it can be decrypted', async () => {
  const { log, masterKeyFile, vault } = await given();
  const sealed = recorded(await vault.sealEvent(PLACE, eventOf()));
  const after = await openVault({ log, masterKeyFile });
  const endOutage = log.outage();
  const error = await Promise.resolve(after.openEvent(sealed)).catch((thrown: LogError) => thrown);
  assert.is((error as LogError).kind, 'unavailable');
  endOutage();
  assert.is(textOf(await after.openEvent(sealed)), TEXT);
});

test('a process that only decrypts events never creates a master key: it waits for the key file, and decrypts as soon as the file exists', async () => {
  const { log, masterKeyFile, vault } = await given();
  const sealed = recorded(await vault.sealEvent(PLACE, eventOf()));
  const elsewhere = join(createTempDirectory().dir, 'master.key');
  const { openEvent } = openEventOpener({ log, masterKeyFile: elsewhere });
  const failure = async (): Promise<string> =>
    Promise.resolve(openEvent(sealed)).then(
      () => 'opened',
      (error: Error) => error.message,
    );
  assert.match(await failure(), /^the master key .* is missing[^\n]*$/);
  writeFileSync(elsewhere, randomBytes(32));
  assert.match(await failure(), /^the master key .* is not the one that encrypted[^\n]*$/);
  renameSync(masterKeyFile, elsewhere);
  assert.is(await failure(), 'opened');
  assert.is(log.events.filter(({ category }) => category === 'key').length, 4);
});

test.run();
