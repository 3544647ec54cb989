import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { lineOf } from '../../infra/cli/print-events.ts';
import { recorded } from '../fixtures/given.ts';

/** What would begin a line of its own, move a terminal, or break JSON. */
const HOSTILE = [
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

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const OBEYED = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;

/** Logs each text as everything that a line can hold of a caller's. */
const LOGGING = `
  const { createLogger } = await import('./infra/logging/logger.ts');
  const logger = createLogger({ logLevel: 'info' }, 'test');
  for (const text of JSON.parse(await new Response(process.stdin).text()))
    logger.error({ err: new Error(text), method: 'GET', path: text, [text.slice(0, 99)]: text, deep: { text } }, text);
`;

/** Logs more than a disk without room takes, waits, and ends. */
const LOGGING_ON = `
  const { createLogger } = await import('./infra/logging/logger.ts');
  const logger = createLogger({ logLevel: 'info' }, 'test');
  for (let n = 0; n < 100; n++) {
    logger.info('a line');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  logger.info('the last line');
  process.exit(7);
`;

const logged = async (texts: readonly string[]): Promise<string> => {
  const running = promisify(execFile)(process.execPath, ['--input-type=module', '-e', LOGGING], { maxBuffer: 1 << 26 });
  running.child.stdin!.end(JSON.stringify(texts));
  return (await running).stdout;
};

test('whatever a caller sends is one line of JSON in the log, says what it said, and moves no terminal', async () => {
  const output = await logged(HOSTILE);
  assert.not.match(output, OBEYED);
  const lines = output.trimEnd().split('\n');
  assert.is(lines.length, HOSTILE.length);
  for (const [index, line] of lines.entries()) {
    const { msg, path, deep, level } = JSON.parse(line) as { msg: string; path: string; deep: { text: string }; level: number };
    const text = HOSTILE[index]!;
    assert.is(level, 50);
    // A lone surrogate is no character: what comes out is what UTF-8 can say.
    for (const kept of [msg, path, deep.text]) assert.ok(kept === text || kept === text.toWellFormed(), JSON.stringify(text.slice(0, 40)));
  }
});

test('a log that there is no room for neither ends the process nor holds it up', async () => {
  const full = openSync('/dev/full', 'w');
  const running = spawn(process.execPath, ['--input-type=module', '-e', LOGGING_ON], {
    stdio: ['ignore', full, 'inherit'],
    timeout: 30_000,
  });
  const [code] = (await once(running, 'exit')) as [number | null];
  closeSync(full);
  assert.is(code, 7);
});

test('what is logged last is in the log of a process that ends', async () => {
  const running = promisify(execFile)(process.execPath, ['--input-type=module', '-e', LOGGING_ON]);
  const { stdout } = (await running.catch((error: { stdout: string }) => error)) as { stdout: string };
  const lines = stdout.trimEnd().split('\n');
  assert.is(lines.length, 101);
  assert.match(lines.at(-1)!, 'the last line');
});

test('an event that is printed is one line that moves no terminal, and parses to what it was', () => {
  for (const text of HOSTILE) {
    const [event] = recorded('agent', [{ type: 'AgentUpdated', data: { name: text } } as never]);
    const line = lineOf(event!);
    assert.not.match(line, OBEYED);
    assert.not.ok(line.includes('\n'));
    assert.is((JSON.parse(line) as { data: { name: string } }).data.name, text);
  }
});

test.run();
