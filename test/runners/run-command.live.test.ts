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

test('a command is not started after it was stopped', () =>
  withTempDirectory(async (dir) => {
    const never = new AbortController().signal;
    for (const name of ['kill', 'end', 'force']) {
      const signals = { kill: never, force: never, [name]: AbortSignal.abort() };
      const { cause } = await runCommand({ exec: `touch '${dir}/started'`, input: Buffer.from('{}'), env: {}, ...signals });
      equal([cause.outcome, existsSync(join(dir, 'started'))], ['released', false], name);
    }
  }));

test('a command that ignores SIGTERM when its session is stopped is killed', () =>
  withTempDirectory(async (dir) => {
    const [end, never] = [new AbortController(), new AbortController().signal];
    const exec = `cd '${dir}'; trap '' TERM; touch started; while :; do sleep 0.1; done`;
    const running = runCommand({ exec, input: Buffer.from('{}'), env: {}, kill: never, end: end.signal, force: never });
    await eventually('the command runs', () => existsSync(join(dir, 'started')));
    end.abort();
    is((await running).ended, 'signal SIGKILL');
  }));

test.run();
