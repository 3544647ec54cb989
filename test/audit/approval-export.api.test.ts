import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { verifyAuditExport } from '../../infra/audit/verify-audit-export.mjs';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { contentsOf, linesIn } from '../fixtures/export-edits.ts';
import { runExport } from '../fixtures/run-export.ts';
import { serveApp } from '../fixtures/serve-app.ts';
import { createSessionPlatform, type Json } from '../fixtures/session-platform.ts';
import { signAuditHeads } from '../fixtures/sign-audit-heads.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { addMember } from '../fixtures/users.ts';

const p = await createSessionPlatform();
const server = await serveApp(p);
const ada = await addMember(p, 'ADMIN', p.tenant_id, 'ada@example.com');
const file = join(createTempDirectory().dir, 'export.jsonl');

type Exported = { readonly type: string; readonly metadata: { readonly actor: Json }; readonly data: Json };

test('an export of a tenant verifies, and shows who decided on an approval, and the digest of what was shown', async () => {
  const session = await p.startSession();
  const shown = { action: 'Merge pull request 42', detail: 'All checks have passed.', expires_at: null };
  const asked = await p.append(session, { kind: 'approval', approval: shown });
  const { id: message_id } = asked.body as Json;
  const body = { decision: 'approved', comment: 'After 18:00' };
  assert.is((await p.send('POST', `${session}/messages/${message_id}/decision`, { key: ada.key, body })).status, 200);
  await p.waitForProjections();
  await signAuditHeads(p, [p.tenant_id]);
  const exporting = await runExport({ tenant: p.tenant_id, to: file, wait: false, url: server.url, key: p.key });
  assert.is(exporting.code, 0, exporting.lines.join('\n'));
  const { problems, ok } = await verifyAuditExport(file);
  assert.equal([problems, ok], [[], true]);
  const events = contentsOf(linesIn(file)).flatMap(({ kind, text }) => (kind === 'event' ? [JSON.parse(text) as Exported] : []));
  const sha256 = createHash('sha256').update(JSON.stringify(shown)).digest('hex');
  const of = (type: string) =>
    events.filter((event) => event.type === type).map(({ metadata, data }) => [metadata.actor.id, data.message_id, data.sha256]);
  assert.equal(of('ApprovalDecided'), [[ada.user_id, message_id, sha256]]);
  assert.equal(
    of('ApprovalRequested').map(([, ...rest]) => rest),
    [[message_id, sha256]],
  );
  assert.is(events.find(({ type }) => type === 'ApprovalDecided')!.data.decision, 'approved');
  for (const text of [shown.action, shown.detail, body.comment]) assert.not.match(readFileSync(file, 'utf8'), text);
});

afterLastTest(async () => {
  await server.close();
  p.close();
});

test.run();
