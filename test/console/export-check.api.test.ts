import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkExport } from '../../api/console/browser/export-check.mjs';
import { rotateSigningKey } from '../../infra/audit/signing-key.ts';
import { exportTenant } from '../../infra/cli/audit/export-tenant.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, startConsole } from '../fixtures/console-platform.ts';
import { editExport, linesIn, seededRandom } from '../fixtures/export-edits.ts';
import { serveApp } from '../fixtures/serve-app.ts';
import { signAuditHeads } from '../fixtures/sign-audit-heads.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const p = await startConsole();
const server = await serveApp(p);
const { dir } = createTempDirectory();
const file = join(dir, 'audit.jsonl');

for (const round of [1, 2, 3]) {
  for (let index = 0; index < 3 * round; index++) await createAgent(p, `Agent ${round} ${index}`, { description: 'Prüft 🔎' });
  await p.waitForProjections();
  await signAuditHeads(p, [p.tenant_id]);
  if (round === 1) await rotateSigningKey(p);
}

test('an unchanged export verifies in the browser, with all its entries and heads', async () => {
  const { log } = console;
  console.log = () => {};
  assert.is(await exportTenant({ tenant: p.tenant_id, to: file, wait: false, url: server.url, key: p.key }), 0);
  console.log = log;
  const { problems, tenant_id, heads, entries } = await checkExport(readFileSync(file));
  assert.equal([problems, tenant_id, heads], [[], p.tenant_id, 3]);
  assert.ok(entries > 18);
});

test('in a changed export, the first problem that the browser names is at the changed line, whatever was changed', async () => {
  const lines = linesIn(file);
  const random = seededRandom(7);
  for (let round = 0; round < 150; round++) {
    const { what, bytes, from, to } = editExport(lines, random);
    const { problems } = await checkExport(bytes);
    const first = problems.toSorted((one, other) => one.last_line - other.last_line)[0];
    assert.ok(first && first.last_line >= from && first.line <= to, `${what}: ${JSON.stringify(problems.slice(0, 3))}`);
  }
});

test('a file that is not an export is refused at its first line', async () => {
  const { problems } = await checkExport(Buffer.from('{"id":"x"}\n'));
  assert.is(problems[0]?.line, 1);
  assert.match(String(problems[0]?.text), /not a line of an export/);
  assert.ok((await checkExport(Buffer.alloc(0))).problems.length > 0);
});

afterLastTest(async () => {
  await server.close();
  assert.equal(p.unappliedEvents(), []);
  await p.close();
});

test.run();
