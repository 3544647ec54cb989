import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { SentAgain } from '../../commands/deliveries/redeliver.ts';
import { verificationLines } from '../../infra/cli/audit/verify-export.ts';
import { printVerification } from '../../infra/cli/blobs/check-blobs.ts';
import { createResendReport } from '../../infra/cli/deliveries/resend-report.ts';
import { findingLines } from '../../infra/cli/projections/verify-projections.ts';
import { examplesOf } from '../../infra/logging/examples.ts';

const numbers = Array.from({ length: 305 }, (_, index) => String(index));

const printed = (run: () => unknown): string[] => {
  const lines: string[] = [];
  const { log } = console;
  console.log = (line: string) => void lines.push(line);
  try {
    run();
  } finally {
    console.log = log;
  }
  return lines;
};

const resend = (options: { dryRun: boolean; verbose: boolean }, resultOf: (index: number) => SentAgain | Error) => () => {
  const report = createResendReport(options);
  for (const [index, delivery_id] of numbers.entries())
    report.add({ tenant: 't', agent_id: 'a', delivery_id, message_id: `m${delivery_id}` }, resultOf(index));
  report.end();
};
const mixed = (index: number): SentAgain | Error =>
  index % 61 === 0 ? new Error('the log does not answer') : index % 5 === 0 ? { skipped: 'acknowledged' } : { message_id: `n${index}` };

const export_ = {
  ...{ ok: false, is_empty: false, tenant_id: 't', entries: 305, heads: 1, key_id: 'k', is_key_known: true, is_selection: false },
  ...{ has_gaps: false, uncovered_contents: 0, later_covered_contents: 0, problem_count: 305 },
  problems: numbers.map((_, index) => ({ line: index + 1, last_line: index + 1, text: 'it was edited' })),
};
const drifted = numbers.map((id) => ({ table: 'agents', key: { id }, columns: ['name'], event: null }));
const reports = [{ projection: 'agents', position: '1:1', checked: 305, drifted }] as never;
const findings = numbers.map((id) => ({ problem: 'missing', tenant: 't', sha256: id, event_id: id }));
const blobs = { read: 305, bytes: 305, findings } as never;

const commands: [string, (verbose: boolean) => string[]][] = [
  ['deliveries redeliver --dry-run', (verbose) => printed(resend({ dryRun: true, verbose }, (index) => ({ message_id: `n${index}` })))],
  ['deliveries redeliver', (verbose) => printed(resend({ dryRun: false, verbose }, mixed))],
  ['verify', (verbose) => findingLines(reports, verbose)],
  ['verify --audit', (verbose) => verificationLines(export_, 'a.jsonl', verbose)],
  ['blobs verify, restore', (verbose) => printed(() => printVerification(blobs, { json: false, verbose }))],
  ['store verify, vault status', (verbose) => [...examplesOf(numbers, verbose)]],
];

for (const [name, run] of commands)
  test(`a command with much output prints counts and examples, and with --verbose everything: annals ${name}`, () => {
    const few = run(false);
    assert.ok(few.length <= 14, few.join('\n'));
    assert.match(few.join('\n'), /\b(305|295|302|237)\b/);
    assert.match(few.join('\n'), /--verbose/);
    const all = run(true);
    assert.ok(all.length >= 305, String(all.length));
    assert.not.match(all.join('\n'), /--verbose/);
  });

test('deliveries that are sent again are counted by outcome and reason', () => {
  const lines = printed(resend({ dryRun: false, verbose: false }, mixed));
  assert.equal(lines.slice(-4), [
    '… and 2 more, failed: the log does not answer: --verbose prints all',
    '… and 237 more, sent: --verbose prints all',
    '… and 57 more, skipped: acknowledged: --verbose prints all',
    '240 sent, 60 skipped, 5 failed',
  ]);
  assert.is(lines.filter((line) => line.startsWith('sent ')).length, 3);
  assert.is(lines[0], 'failed 0  tenant t  agent a: the log does not answer');
});

test('a small number of findings is printed completely', () => assert.equal(examplesOf(numbers.slice(0, 10), false), numbers.slice(0, 10)));

test.run();
