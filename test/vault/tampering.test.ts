import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Recorded, streamName } from '../../domain/event.ts';
import { secret } from '../../domain/secret.ts';
import { blobPath } from '../../infra/blobs/blob-directory.ts';
import { openBlobStore, openDirectoryPlace } from '../../infra/blobs/open-blob-store.ts';
import { openEntry, type SealedEntry, sealEntry } from '../../infra/spool/spooled-delivery.ts';
import { openMasterKeys } from '../../infra/vault/master-keys.ts';
import { openVault } from '../../infra/vault/vault.ts';
import { createKey, readWrappedKeys, unwrapKeys } from '../../infra/vault/wrapped-keys.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const FLIPS = 1_000;
const TENANTS = ['acme', 'other'];
const NAMES = ['one', 'two'];
const AT = '2026-11-23T10:00:00.000Z';
const actor = { kind: 'system', id: 'test' } as const;

/** The place for which a content is encrypted. Each kind of content interprets the four parts in its own way. */
type Place = { readonly tenant: string; readonly category: string; readonly id: string; readonly field: string };

const PLACES: readonly Place[] = TENANTS.flatMap((tenant) =>
  NAMES.flatMap((category) => NAMES.flatMap((id) => NAMES.map((field) => ({ tenant, category, id, field })))),
);
const plainOf = (place: Place): string => `the content of ${Object.values(place).join(' ')}`;

/**
 * A kind of encrypted content. `seal` encrypts the content that belongs to a place. `open` decrypts bytes as if they
 * were stored at this place, and returns the content.
 */
type Kind = {
  readonly places: readonly Place[];
  readonly seal: (place: Place) => Promise<Buffer>;
  readonly open: (place: Place, sealed: Buffer) => Promise<string>;
};

const log = memoryLog();
const { dir } = createTempDirectory();
const masterKeyFile = join(dir, 'master.key');
const vault = await openVault({ log, masterKeyFile });
const masters = await openMasterKeys(masterKeyFile, false);

const secrets: Kind = {
  places: PLACES,
  seal: async (place) => Buffer.from(await vault.seal(place, secret(plainOf(place)))),
  open: async (place, sealed) => (await vault.open(place, sealed.toString('latin1'))).reveal(),
};

/** The event id for each name in `NAMES`, which the tests use as `field`. */
const eventIds = new Map(NAMES.map((field) => [field, randomUUID()]));
const facts = new Map<string, Record<string, unknown>>();

const events: Kind = {
  places: PLACES,
  seal: async (place) => {
    const meta = { tenant: place.tenant, actor, at: AT, v: 1, facts: {} };
    const event = { id: eventIds.get(place.field)!, type: 'WebhookAccepted', data: Buffer.from(plainOf(place)), meta };
    const sealed = await vault.sealEvent(place, event);
    facts.set(place.tenant, sealed.meta.facts!);
    return Buffer.from(sealed.data);
  },
  open: async ({ tenant, category, id, field }, data) => {
    const meta = { tenant, actor, at: AT, v: 1, facts: facts.get(tenant)! };
    const stream = streamName(category, tenant, id);
    const position = { commit: 1n, prepare: 1n };
    const event: Recorded = {
      ...{ tenant, category, id, stream, data, meta, actor, position },
      ...{ type: 'WebhookAccepted', event_id: eventIds.get(field)!, revision: 0, at: AT },
    };
    return Buffer.from((await vault.openEvent(event)).data as Uint8Array).toString();
  },
};

const root = join(dir, 'blobs');
const blobs = openBlobStore(openDirectoryPlace(root), vault);
const digests = new Map<string, string>();

/** Files of the file store. A file is identified by its tenant and by the digest of its content. */
const files: Kind = {
  places: PLACES,
  seal: async (place) => {
    const { sha256 } = await blobs.of(place.tenant).put(Buffer.from(plainOf(place)));
    digests.set(plainOf(place), sha256);
    return readFileSync(blobPath(root, { tenant: place.tenant, sha256 }));
  },
  open: async (place, sealed) => {
    const name = { tenant: place.tenant, sha256: digests.get(plainOf(place))! };
    mkdirSync(dirname(blobPath(root, name)), { recursive: true });
    writeFileSync(blobPath(root, name), sealed);
    const blob = (await blobs.of(name.tenant).get(name.sha256))!;
    return Buffer.concat(await Array.fromAsync(blob.content)).toString();
  },
};

const spoolIdentity = ({ tenant, category, id, field }: Place) => ({ tenant, integration: category, delivery: id, eventId: field });
const { key: spoolKey } = vault.spoolKeys;

const spooled: Kind = {
  places: PLACES,
  seal: async (place) => {
    const body = new Uint8Array(Buffer.from(plainOf(place)));
    return Buffer.from(sealEntry(spoolKey, { ...spoolIdentity(place), at: 1, facts: '{}', body }).content);
  },
  open: async (place, content) => {
    const row: SealedEntry = { ...spoolIdentity(place), at: 1, kid: spoolKey.kid, content };
    return Buffer.from(openEntry([spoolKey], row).body as Uint8Array).toString();
  },
};

const kids = new Map<string, string>();

/** Encrypted keys. Each belongs to its tenant, to the last part of the name of its stream, and to its key id. */
const keys: Kind = {
  places: PLACES.filter(({ category, field }) => category === 'one' && field === 'one'),
  seal: async ({ tenant, id }) => {
    await createKey(log, masters, { tenant, id });
    const [created] = await readWrappedKeys(log, tenant, id);
    kids.set(`${tenant} ${id}`, created!.kid);
    return Buffer.from(created!.wrapped);
  },
  open: async (place, sealed) => {
    const kid = kids.get(`${place.tenant} ${place.id}`)!;
    const [opened] = await unwrapKeys(masters, place, [{ kid, wrapped: sealed.toString('latin1'), created_at: AT, earlier: [] }]);
    // A key has no text to compare. It is enough that it was decrypted for this place.
    return opened!.key.length === 32 ? plainOf(place) : '';
  },
};

const KINDS: Readonly<Record<string, Kind>> = { secrets, events, files, 'waiting deliveries': spooled, keys };

const isOpened = (work: Promise<string>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

for (const [name, { places, seal, open }] of Object.entries(KINDS)) {
  test(`${name}: a value that was encrypted for one place cannot be decrypted at another place of the same tenant or of another tenant`, async () => {
    const sealed: Buffer[] = [];
    for (const place of places) sealed.push(await seal(place));
    let swaps = 0;
    for (const [from, bytes] of sealed.entries())
      for (const [to, place] of places.entries()) {
        if (from === to) assert.is(await open(place, bytes), plainOf(place));
        else assert.not.ok(await isOpened(open(place, bytes)), `${plainOf(places[from]!)} was opened as ${plainOf(place)}`);
        swaps += Number(from !== to);
      }
    assert.is(swaps, places.length * (places.length - 1));
  });

  test(`${name}: if any one of ${FLIPS} bits of an encrypted value was changed, the value cannot be decrypted`, async () => {
    const place = places[0]!;
    const sealed = await seal({ ...place, ...(name === 'keys' && { id: 'third' }) });
    const home = { ...place, ...(name === 'keys' && { id: 'third' }) };
    assert.ok(await isOpened(open(home, sealed)));
    const bits = sealed.length * 8;
    for (let n = 0; n < FLIPS; n++) {
      const bit = n < bits ? Math.floor((n * bits) / Math.min(FLIPS, bits)) : Math.floor(Math.random() * bits);
      const changed = Buffer.from(sealed);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      assert.not.ok(await isOpened(open(home, changed)), `bit ${bit} of ${bits}`);
    }
  });

  test(`${name}: if the authentication tag of an encrypted value was removed or cut to 4, 8 or 12 bytes, the value cannot be decrypted`, async () => {
    const home = { ...places[0]!, ...(name === 'keys' && { id: 'fourth' }) };
    const sealed = await seal(home);
    for (const missing of [1, 4, 8, 12, 16]) assert.not.ok(await isOpened(open(home, sealed.subarray(0, -missing))), `${missing} bytes`);
    assert.ok(await isOpened(open(home, sealed)));
  });
}

test.run();
