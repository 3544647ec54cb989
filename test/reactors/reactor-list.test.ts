import { join } from 'node:path';
import { test } from 'uvu';
import { equal } from 'uvu/assert';
import { brokerReactors, reactors } from '../../infra/platform/reactors.ts';
import { filesOf, root, textOf } from '../architecture/source-files.ts';

const all = [...reactors, ...brokerReactors];
const DEFINITION = /^export const (\w+)(?:: Reactor<\w+>| = (?:timed|timedRuns|following)\b)/gm;

test('every process that works starts every reactor that infra defines', async () => {
  const missing: string[] = [];
  for (const file of filesOf('infra'))
    for (const [, name] of textOf(file).matchAll(DEFINITION)) {
      const module = (await import(join(root, file))) as Record<string, never>;
      if (!all.includes(module[name!]!)) missing.push(`${name} in ${file}`);
    }
  equal(missing, []);
});

test('the locks of reactors have the same names in every version', () =>
  equal(all.map(({ name }) => name).sort(), [
    'credential revocations',
    'mailboxes',
    'reactor audit anchors',
    'reactor audit heads',
    'reactor benchmark runs',
    'reactor cron messages',
    'reactor cron targets',
    'reactor delivery replays',
    'reactor held deliveries',
    'reactor key rotations',
    'reactor mail',
    'reactor memory imports',
    'reactor scheduler',
    'reactor session expiry',
    'reactor tenant closings',
    'reactor tenant erasures',
    'reactor token renewal',
    'skill webhooks',
    'usage counter',
  ]));

test.run();
