import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkExport } from '../../api/console/browser/export-check.mjs';
import { describeVerification, verifyAuditExport } from '../../infra/audit/verify-audit-export.mjs';
import { contentsOf, linesIn } from '../fixtures/export-edits.ts';
import { fileOf } from '../fixtures/made-export.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

/**
 * A file that an earlier version has exported, with three deliveries. Its heads leave out the contents of deliveries, but
 * the peaks that it wrote beside each head do not.
 */
const FILE = join(import.meta.dirname, '../fixtures/earlier-export.jsonl');
const CONTENTS = 3;

test('a file that an earlier version exported verifies, and the verifier says which contents no head covers', async () => {
  const found = await verifyAuditExport(FILE);
  assert.equal([found.problems, found.ok, found.uncovered_contents], [[], true, CONTENTS]);
  assert.match(describeVerification(found).join('\n'), 'no head covers the contents of 3');
  const inBrowser = await checkExport(readFileSync(FILE));
  assert.equal([inBrowser.problems, inBrowser.uncovered_contents], [[], CONTENTS]);
});

test('in a file of an earlier version, edited, removed and moved entries and changed peaks of a head are detected', async () => {
  const contents = contentsOf(linesIn(FILE));
  const event = contents.findIndex(({ text }) => text.includes('"type":"AgentCreated"'));
  const head = contents.findIndex(({ kind }) => kind === 'head');
  const replaced = (index: number, from: RegExp, to: string) =>
    contents.with(index, { ...contents[index]!, text: contents[index]!.text.replace(from, to) });
  const edits = {
    edited: replaced(event, /"slug":"a"/, '"slug":"b"'),
    removed: contents.toSpliced(event, 1),
    moved: contents.toSpliced(event, 1).toSpliced(event + 1, 0, contents[event]!),
    'with other peaks': replaced(head, /"peaks":\[".{4}/, '"peaks":["AAAA'),
    'with the root of another tree': replaced(head, /"root":".{4}/, '"root":"AAAA'),
  };
  const { dir } = createTempDirectory();
  for (const [what, edited] of Object.entries(edits)) {
    const file = join(dir, 'edited.jsonl');
    writeFileSync(file, fileOf(edited));
    assert.not((await verifyAuditExport(file)).ok, what);
    assert.not.equal((await checkExport(readFileSync(file))).problems, [], `${what}, in the browser`);
  }
});

test.run();
