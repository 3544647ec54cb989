// limit: 400 s for this file (test/run.ts)
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Platform, sharedPlatform } from '../faults/platform.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { deliveryBodies } from './secrets/delivery-bodies.ts';
import { encryptedContents } from './secrets/encrypted-contents.ts';
import { erasedContents } from './secrets/erased-contents.ts';
import { forgedDelivery } from './secrets/forged-delivery.ts';
import { killedImport } from './secrets/killed-import.ts';
import { privateRepository, startPrivateServer } from './secrets/private-repository.ts';
import { annals, directoriesOf, type Remains } from './secrets/secret-case.ts';
import { skillConfigurations } from './secrets/skill-configurations.ts';

// All cases use one platform. It is stopped before its files are searched, because only then everything is in them.

const server = await startPrivateServer();
const CASES = [
  killedImport,
  skillConfigurations,
  forgedDelivery,
  deliveryBodies,
  privateRepository(server),
  encryptedContents,
  erasedContents,
];
const checks = new Map<string, (remains: Remains) => void>();
let remains: Remains | undefined;

const onPlatform = sharedPlatform({ ...server.variables, LOG_LEVEL: 'trace' });

for (const { name, act } of CASES)
  test(`preparation: ${name}`, () => onPlatform(async (platform) => void checks.set(name, await act(platform))));

const stopAndKeep = async (platform: Platform): Promise<Remains> => {
  const replayed = await annals(platform, 'replay');
  const backup = join(platform.dir, 'backup');
  await annals(platform, 'backup', '--to', backup);
  await platform.stop();
  const output = platform.output();
  assert.match(output, /^ready http/m);
  return { platform, own: directoriesOf(platform), backup, printed: output + replayed };
};

test('the events of the log can be printed, and the platform can be backed up and stopped', () =>
  onPlatform(async (platform) => {
    remains = await stopAndKeep(platform);
  }));

for (const { name } of CASES)
  test(name, () => {
    assert.ok(remains && checks.has(name), 'the preparation has failed');
    checks.get(name)!(remains!);
  });

afterLastTest(() => server.close());

test.run();
