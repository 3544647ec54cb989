import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventText } from '../../infra/cli/print-events.ts';
import { recorded } from '../fixtures/given.ts';

/**
 * Texts that could harm a log: they forge a line, send control sequences to a terminal, or make a line invalid JSON.
 */
const HOSTILE_TEXTS = [
  '\n{"level":60,"msg":"forged"}',
  '\r\n',
  '\u0000',
  '\u001b[2J\u001b]0;title\u0007',
  '\u009b31m',
  '\u007f\u0085\u2028\u2029',
  '\u202etxt.exe',
  '\ud800',
  '__proto__',
  '"},{"',
  'x'.repeat(1_048_576),
];

// biome-ignore lint/suspicious/noControlCharactersInRegex: the output must not contain them
const TERMINAL_CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;

const CREATE_LOGGER = `
  const { createLogger } = await import('./infra/logging/logger.ts');
  const logger = createLogger({ logLevel: 'info' }, 'test');
`;

/**
 * A script that reads texts from its input. It logs each text in each part of a log line that callers can influence.
 */
const LOG_TEXTS = `${CREATE_LOGGER}
  for (const text of JSON.parse(await new Response(process.stdin).text()))
    logger.error({ err: new Error(text), method: 'GET', path: text, [text.slice(0, 99)]: text, deep: { text } }, text);
`;

/**
 * A script that logs many lines over some time. Right after the last but one line is written, it logs the last line and
 * exits in the same turn of the event loop.
 */
const LOG_AND_EXIT = `${CREATE_LOGGER}
  for (let n = 0; n < 100; n++) {
    logger.info('a line');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  logger.info('the last but one');
  await new Promise((resolve) => setImmediate(resolve));
  logger.info('the last line');
  process.exit(7);
`;

/**
 * A script that logs request lines, which are written with a delay, and another line in between. It exits before the
 * delay is over.
 */
const LOG_REQUESTS_AND_EXIT = `${CREATE_LOGGER}
  const { createRequestLogger } = await import('./infra/logging/logger.ts');
  const requests = createRequestLogger({ logLevel: 'info' }, 'test');
  for (const n of [1, 2, 3]) {
    requests.info('request ' + n);
    if (n === 2) logger.info('another line');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  process.exit(7);
`;

/** A script that logs more text than the buffer of a pipe can hold, and then exits with code 7. */
const LOG_A_LOT_AND_EXIT = `${CREATE_LOGGER}
  for (let n = 0; n < 1_000; n++) {
    logger.info('x'.repeat(1_000));
    if (n % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  }
  process.exit(7);
`;

const script = (code: string): [file: string, args: string[]] => [process.execPath, ['--input-type=module', '-e', code]];

const logged = async (texts: readonly string[]): Promise<string> => {
  const running = promisify(execFile)(...script(LOG_TEXTS), { maxBuffer: 1 << 26 });
  running.child.stdin!.end(JSON.stringify(texts));
  return (await running).stdout;
};

test('a text from a caller is logged as one line of JSON that contains no terminal controls and parses to the same text', async () => {
  const output = await logged(HOSTILE_TEXTS);
  assert.not.match(output, TERMINAL_CONTROLS);
  const lines = output.trimEnd().split('\n');
  assert.is(lines.length, HOSTILE_TEXTS.length);
  for (const [index, line] of lines.entries()) {
    const { msg, path, deep, level } = JSON.parse(line) as { msg: string; path: string; deep: { text: string }; level: string };
    const text = HOSTILE_TEXTS[index]!;
    assert.is(level, 'error');
    // UTF-8 cannot encode a lone surrogate. In its place, the log may contain the replacement character (U+FFFD).
    for (const found of [msg, path, deep.text])
      assert.ok(found === text || found === text.toWellFormed(), JSON.stringify(text.slice(0, 40)));
  }
});

test('every log line contains its level as a word, and its time in ISO 8601', async () => {
  const code = `${CREATE_LOGGER}
    const { createRequestLogger } = await import('./infra/logging/logger.ts');
    for (const log of [logger, createRequestLogger({ logLevel: 'info' }, 'test')])
      for (let n = 0; n < 3; n++) {
        log.warn({ expected: new Date().toISOString() }, 'a line');
        await new Promise((resolve) => setTimeout(resolve, 334));
      }`;
  const { stdout } = await promisify(execFile)(...script(code));
  const lines = stdout.trimEnd().split('\n');
  assert.is(lines.length, 6);
  for (const line of lines) {
    const { level, time, expected } = JSON.parse(line) as { level: string; time: string; expected: string };
    assert.is(level, 'warn');
    assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.ok(Math.abs(Date.parse(time) - Date.parse(expected)) < 50, `${time} instead of ${expected}`);
  }
});

test('a process that cannot write its log because the disk is full keeps running and exits normally', async () => {
  const full = openSync('/dev/full', 'w');
  const running = spawn(...script(LOG_AND_EXIT), { stdio: ['ignore', full, 'inherit'], timeout: 30_000 });
  const [code] = (await once(running, 'exit')) as [number | null];
  closeSync(full);
  assert.is(code, 7);
});

test('a process keeps running and exits normally if nobody reads its log output', async () => {
  const running = spawn(...script(LOG_A_LOT_AND_EXIT), { stdio: ['ignore', 'pipe', 'inherit'], timeout: 30_000 });
  const [code] = (await once(running, 'exit')) as [number | null];
  running.stdout!.destroy();
  assert.is(code, 7);
});

test('when a process exits, all lines that it has logged are written, in order', async () => {
  const running = promisify(execFile)(...script(LOG_AND_EXIT));
  const { stdout } = (await running.catch((error: { stdout: string }) => error)) as { stdout: string };
  const messages = stdout
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { msg: string }).msg);
  assert.equal(messages, [...Array<string>(100).fill('a line'), 'the last but one', 'the last line']);
});

test('request lines are written with a delay, but in order with the other lines, and at the latest when the process exits', async () => {
  const running = promisify(execFile)(...script(LOG_REQUESTS_AND_EXIT));
  const { stdout } = (await running.catch((error: { stdout: string }) => error)) as { stdout: string };
  const messages = [...stdout.matchAll(/"msg":"([^"]+)"/g)].map(([, message]) => message);
  assert.equal(messages, ['request 1', 'request 2', 'another line', 'request 3']);
});

test('annals replay prints an event as one line of JSON that contains no terminal controls and parses to the same event', () => {
  for (const text of HOSTILE_TEXTS) {
    const [event] = recorded('agent', [{ type: 'AgentUpdated', data: { name: text } } as never]);
    const line = eventText(event!);
    assert.not.match(line, TERMINAL_CONTROLS);
    assert.not.ok(line.includes('\n'));
    assert.is((JSON.parse(line) as { data: { name: string } }).data.name, text);
  }
});

test.run();
