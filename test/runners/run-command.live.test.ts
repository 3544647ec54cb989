import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, is } from 'uvu/assert';
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

test('the end of a command does not wait for a process that keeps its standard error open', async () => {
  const { signal } = new AbortController();
  const exec = 'echo oops >&2; sleep 2 & exit 3';
  const { ended, cause } = await runCommand({ exec, input: Buffer.from('{}'), env: {}, kill: signal, force: signal });
  equal([ended, await Promise.race([cause.output, 'not read yet'])], [3, 'not read yet']);
  is(String((await cause.output)!.text), 'oops\n');
});

test.run();
