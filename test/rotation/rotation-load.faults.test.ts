// limit: 300 s for this file (test/run.ts)

import { test } from 'uvu';
import { equal, match, ok } from 'uvu/assert';
import { rotateUnderLoad } from '../faults/key-rotation.ts';
import { mainFile, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { lentPlatform } from '../fixtures/running-platform.ts';

const onPlatform = lentPlatform();

// For the same test at 200 requests per second, run `node test/faults/key-rotation.ts`.
test('no request fails while the master key and a data key are rotated; annals vault status shows the new keys', () =>
  onPlatform(async (platform) => {
    const { failures, requests } = await rotateUnderLoad(platform, { rotations: 1, perSecond: 20 });
    equal(failures, []);
    ok(requests > 200, `${requests} requests`);
    const env = { ...unconfiguredEnvironment(), ANNALS_DATA: platform.data };
    const status = startProgram(process.execPath, [mainFile, 'vault', 'status', '--verbose'], { env });
    equal(await status.ended, 0, status.output());
    const [, opened, all] = /^master key {2}\S+, 0 days old, in \S+; it opens (\d+) of (\d+) keys$/m.exec(status.output()) ?? [];
    ok(opened !== undefined && opened === all, status.output());
    match(status.output(), /^data key {4}c[a-z0-9]{24} {2}\S+, 0 days old; 1 older one$/m);
  }));

test.run();
