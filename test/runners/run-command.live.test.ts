import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { is } from 'uvu/assert';
import { runCommand } from '../../infra/runner/run-command.ts';
import { eventually, withTempDirectory } from '../fixtures/child-process.ts';

test('if the command of a runner must stop but ignores SIGTERM, it is killed with all its child processes', () =>
  withTempDirectory(async (dir) => {
    const [kill, force] = [new AbortController(), new AbortController()];
    const input = Buffer.from('{}');
    const exec = `cd '${dir}'; trap 'touch signalled' TERM; (trap '' TERM; sleep 60) & touch started; while :; do wait; done`;
    const running = runCommand({ exec, input, env: {}, kill: kill.signal, force: force.signal });
    await eventually('the command runs', () => existsSync(join(dir, 'started')));
    kill.abort();
    await eventually('the command got SIGTERM', () => existsSync(join(dir, 'signalled')));
    force.abort();
    is((await running).ended, 'signal SIGKILL');
  }));

test.run();
