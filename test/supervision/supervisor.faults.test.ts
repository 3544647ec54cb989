// limit: 60
import { existsSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rotateLog, truncateLog } from '../../infra/supervision/process-log.ts';
import { createStreamRecovery } from '../../infra/supervision/stream-recovery.ts';
import { supervise } from '../../infra/supervision/supervisor.ts';
import { eventually } from '../fixtures/child-process.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const MIB = 1024 * 1024;

test('if the log file of a child process exceeds 10 MiB, it is copied to a second file and truncated while the process continues to write', () => {
  const file = join(createTempDirectory().dir, 'process.log');
  const writing = openSync(file, 'a');
  const write = (text: string, times: number) => writeSync(writing, text.repeat(times));
  write('a', 10 * MIB);
  truncateLog(file);
  assert.is(statSync(file).size, 10 * MIB);
  write('b', 1);
  truncateLog(file);
  assert.equal([statSync(file).size, statSync(`${file}.1`).size], [0, 10 * MIB + 1]);
  write('c', 3);
  assert.is(readFileSync(file, 'utf8'), 'ccc');
});

test('the four latest older logs of a process are kept; older ones are deleted', () => {
  const file = join(createTempDirectory().dir, 'process.log');
  for (const [index, limit] of [truncateLog, rotateLog, truncateLog, rotateLog, truncateLog, truncateLog].entries()) {
    writeFileSync(file, `${index}${'a'.repeat(10 * MIB)}`);
    limit(file);
  }
  const kept = [1, 2, 3, 4, 5].map((number) => existsSync(`${file}.${number}`) && readFileSync(`${file}.${number}`, 'latin1')[0]);
  assert.equal(kept, ['5', '4', '3', '2', false]);
});

/** Supervises a shell script. When the script prints "up", the supervisor considers it started. */
const superviseScript = (script: string) => {
  const { dir } = createTempDirectory();
  const lines: string[] = [];
  const dirs = { logs: join(dir, 'logs'), run: join(dir, 'run'), report: (line: string) => void lines.push(line) };
  const supervised = supervise(
    {
      name: 'child',
      command: '/bin/sh',
      args: ['-c', script],
      env: { DIR: dir },
      stopSignal: 'SIGTERM',
      graceMs: 1_000,
      readyPattern: /up/,
    },
    dirs,
  );
  const starts = (): number => readFileSync(join(dir, 'logs/child.log'), 'utf8').split('up').length - 1;
  return { supervised, lines, starts };
};

test('a process that ends again and again is restarted with growing delays, and its fatal line is reported only once', async () => {
  const { supervised, lines, starts } = superviseScript(
    'echo up; sleep 0.1; echo "[$$] FATAL: the directory is open" >&2; echo bye; exit 1',
  );
  await supervised.ready;
  await new Promise((resolve) => setTimeout(resolve, 9_000));
  await supervised.stop();
  assert.is(lines.length, 1, lines.join());
  assert.match(lines[0]!, /^child ended \(code 1: \[\d+\] FATAL: the directory is open\) and is started again; its log is .*child\.log$/);
  assert.ok(starts() >= 5 && starts() <= 8, `${starts()} starts`);
});

test('if a process fails to start, the supervisor reports its fatal line after the first failed start', async () => {
  const { supervised, lines } = superviseScript('echo "FATAL: no permission" >&2; exit 1');
  await eventually('the report', () => lines.length > 0);
  assert.match(lines[0]!, /^child did not start \(code 1: FATAL: no permission\) and is started again/);
  await supervised.stop();
});

test('if the supervisor restarts a process, it reports the reason', async () => {
  const { supervised, lines } = superviseScript('echo up; exec sleep 60');
  await supervised.ready;
  const before = supervised.pid();
  supervised.restart('it hangs');
  await eventually('another process', () => supervised.pid() !== before);
  assert.equal(lines, ['child is restarted: it hangs']);
  await supervised.stop();
});

test('while a JetStream stream stays stopped although the disk has space, the supervisor restarts nats-server with growing delays', () => {
  const restarts: number[] = [];
  let [seconds, free] = [0, 0];
  const report = createStreamRecovery({
    dir: '/',
    restart: () => void restarts.push(seconds),
    now: () => seconds * 1_000,
    free: () => free,
  });
  const wait = (duration: number, isStopped: boolean): void => {
    for (const end = seconds + duration; seconds < end; seconds++) report({ kind: 'stream', isStopped });
  };
  wait(100, true);
  assert.equal(restarts, [], 'the disk is full');
  free = 1024 ** 3;
  wait(7, true);
  wait(100, false);
  assert.equal(restarts, [], 'the stream continued by itself');
  wait(150, true);
  assert.equal(restarts, [215, 245, 305]);
  wait(1, false);
  wait(250, true);
  assert.equal(restarts.slice(3), [425], 'a report without an error soon after a restart does not shorten the delays');
  wait(1, false);
  free = 0;
  wait(1_000, true);
  assert.is(restarts.length, 4);
});

test.run();
