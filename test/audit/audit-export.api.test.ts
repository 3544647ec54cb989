import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AUDIT_FORMATS } from '../../api/audit/export-format.ts';
import { omit } from '../../domain/omit.ts';
import { AuditLogRead } from '../../projections/audit/audit-log.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Line = Record<string, unknown> & { id: string; action: string; position: string };

const HOSTILE = '=HYPERLINK("http://evil.test","see")';

const p = await createTestPlatform();
const auditor = await addMember(p, 'AUDITOR');
const path = `${p.tenant}/audit-logs/export`;
const exportLog = (query = '', headers: Record<string, string> = {}, key = auditor.key) =>
  p.send('GET', `${path}?${query}`, { key, headers });
const tokenOf = ({ headers }: Answer): string => headers.get('consistency-token')!;
const linesOf = ({ text }: Answer): Line[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
const write = async (voice: string, agent = 'curl'): Promise<Answer> => {
  const body = { name: 'Agent', voice, slug: `a${p.log.events.length}` };
  const created = await p.send('POST', `${p.tenant}/agents`, { body, headers: { 'user-agent': agent } });
  assert.is(created.status, 201, created.text);
  return created;
};

await write('A "quoted", name', HOSTILE);
await write('+1', '@SUM(1)');
await write('＝1', 'Ünïcode, with a comma');
await p.waitForProjections();

test("an export of a tenant's audit log contains all its entries up to the position named in the response, in the order of the log", async () => {
  const answer = await exportLog();
  assert.is(answer.status, 200, answer.text);
  const lines = linesOf(answer);
  const inList = (await p.send('GET', `${p.tenant}/audit-logs?limit=200`, { key: auditor.key })).body as Line[];
  const listed = inList.map((line) => omit(line, 'sentence', 'run') as Line);
  const before = listed.filter(({ id }) => lines.some((line) => line.id === id));
  const byPosition = before.toSorted((a, b) => (BigInt(a.position.split(':')[0]!) < BigInt(b.position.split(':')[0]!) ? -1 : 1));
  assert.equal(lines, byPosition);
  assert.is(lines.at(-1)!.position, tokenOf(answer));
  assert.is(answer.headers.get('content-type'), 'application/jsonl');
  const name = `audit-${p.tenant_id}-${tokenOf(answer).replace(':', '-')}.jsonl`;
  assert.is(answer.headers.get('content-disposition'), `attachment; filename="${name}"`);
  const later = listed.filter(({ id }) => !lines.some((line) => line.id === id)).map(({ action }) => action);
  assert.ok(
    later.every((action) => ['audit.exported', 'api_key.used', 'user.seen'].includes(action)),
    later.join(),
  );
});

test('two exports of an audit log up to the same position are byte for byte the same, even if events were appended between them', async () => {
  const formats = Object.keys(AUDIT_FORMATS);
  const first = await Promise.all(formats.map((format) => exportLog(`format=${format}`)));
  await write('Later');
  await p.waitForProjections();
  for (const [index, format] of formats.entries()) {
    const again = await exportLog(`format=${format}&to_position=${tokenOf(first[index]!)}`);
    assert.is(again.text, first[index]!.text, format);
    assert.is(tokenOf(again), tokenOf(first[index]!));
  }
  assert.ok((await exportLog()).text.length > first[0]!.text.length);
});

test('an audit log export up to an earlier position is the beginning of an export up to a later one; an export up to a position before the first event is empty', async () => {
  const full = await exportLog();
  const middle = linesOf(full)[3]!;
  const part = await exportLog(`to_position=${middle.position}`);
  assert.ok(full.text.startsWith(part.text));
  assert.is(linesOf(part).length, 4);
  const none = await exportLog('to_position=0:0');
  assert.equal([none.status, none.text, tokenOf(none)], [200, '', '0:0']);
  assert.is((await exportLog('to_position=0:0&format=csv')).text.split('\r\n').length, 2, 'only the header');
});

test('an audit log export with filters contains only entries that match them, and the event that records the export contains the filters', async () => {
  const full = await exportLog();
  const lines = linesOf(full);
  const from = String(lines[1]!.created_at);
  const to = String(lines.at(-1)!.created_at);
  const query = `to_position=${tokenOf(full)}&action=agent.*&from=${from}&to=${to}`;
  const part = await exportLog(query);
  const matches = lines.filter(
    ({ action, created_at }) => action.startsWith('agent.') && String(created_at) >= from && String(created_at) < to,
  );
  assert.ok(matches.length > 1 && matches.length < lines.length);
  assert.equal(linesOf(part), matches);
  await p.waitForProjections();
  assert.equal(p.eventsOf('AuditExported').at(-1)!.data, {
    format: 'jsonl',
    position: tokenOf(full),
    filter: { action: 'agent.*', from, to },
  });
  await write('Later');
  await p.waitForProjections();
  assert.is((await exportLog(query)).text, part.text, 'the same parameters yield the same bytes');
});

test('each export of an audit log is recorded as an event whose actor is the caller; the position of this event is greater than that of every exported entry', async () => {
  const answer = await exportLog('format=csv');
  const [exported] = p.eventsOf('AuditExported').slice(-1);
  assert.equal(exported!.data, { format: 'csv', position: tokenOf(answer) });
  assert.equal([exported!.actor.id, exported!.meta.tenant], [auditor.user_id, p.tenant_id]);
  assert.not.ok(answer.text.includes(exported!.event_id));
  await p.waitForProjections();
  assert.ok((await exportLog()).text.includes(exported!.event_id));
  const count = p.eventsOf('AuditExported').length;
  assert.equal([(await p.send('HEAD', path, { key: auditor.key })).status, p.eventsOf('AuditExported').length], [200, count]);
});

/** Parses a CSV text strictly as RFC 4180 describes it, with every cell in quotes. @returns the rows with their fields */
const parsed = (text: string): string[][] => {
  const rows: string[][] = [];
  const row: string[] = [];
  for (const found of text.matchAll(/"((?:[^"]|"")*)"(,|\r\n)/g)) {
    row.push(found[1]!.replaceAll('""', '"'));
    if (found[2] === '\r\n') rows.push(row.splice(0));
  }
  assert.is(text, rows.map((cells) => `${cells.map((one) => `"${one.replaceAll('"', '""')}"`).join(',')}\r\n`).join(''));
  return rows;
};

test('a CSV export starts with a byte order mark if the query requests it, and only a CSV export can', async () => {
  const bytesOf = async (query: string): Promise<Buffer> => {
    const response = await p.app.request(`${path}?${query}`, { headers: { authorization: `Bearer ${auditor.key}` } });
    return Buffer.from(await response.arrayBuffer());
  };
  const position = tokenOf(await exportLog('format=csv'));
  const plain = await bytesOf(`format=csv&to_position=${position}`);
  const marked = await bytesOf(`format=csv&bom=true&to_position=${position}`);
  assert.is(plain.subarray(0, 4).toString('latin1'), '"id"');
  assert.equal(marked, Buffer.concat([Buffer.from('\ufeff'), plain]));
  assert.is((await exportLog('format=jsonl&bom=true')).status, 422);
});

test('a CSV export of an audit log has a header, one row per entry, and no cell that a spreadsheet would evaluate as a formula', async () => {
  const answer = await exportLog('format=csv');
  assert.is(answer.headers.get('content-type'), 'text/csv; charset=utf-8');
  const [head, ...rows] = parsed(answer.text);
  assert.equal(head, Object.keys(AuditLogRead.shape));
  const lines = linesOf(await exportLog(`to_position=${tokenOf(answer)}`));
  assert.is(rows.length, lines.length);
  const agents = rows.map((row) => row[head!.indexOf('user_agent')]!);
  assert.ok(agents.includes(`'${HOSTILE}`) && agents.includes("'@SUM(1)") && agents.includes('Ünïcode, with a comma'));
  const wide = AUDIT_FORMATS.csv.line(JSON.stringify({ ...lines[0], user_agent: '＝1', ip: ' \t-1', meta: {} }));
  assert.ok(wide.includes(`,"' \t'-1","'＝1","{}"`), wide);
  for (const cell of rows.flat()) assert.not.match(cell, /^[\t\r\n]|^\s*[=+\-@＝＋－＠]/);
  assert.equal(
    rows.map((row) => JSON.parse(row[head!.indexOf('meta')]!)),
    lines.map(({ meta }) => meta),
  );
});

test('each entry of an OCSF export has the fields that its OCSF class requires, and all data of the audit log entry', async () => {
  const answer = await exportLog('format=ocsf');
  const lines = linesOf(await exportLog(`to_position=${tokenOf(answer)}`));
  const events = linesOf(answer) as unknown as Record<string, never>[];
  assert.is(events.length, lines.length);
  for (const [index, event] of events.entries()) {
    const {
      class_uid,
      category_uid,
      activity_id,
      activity_name,
      type_uid,
      time,
      severity_id,
      metadata,
      actor,
      api,
      src_endpoint,
      resources,
      unmapped,
    } = event as never;
    const line = lines[index]!;
    assert.is(category_uid, Math.floor(class_uid / 1000));
    assert.is(type_uid, class_uid * 100 + activity_id);
    assert.is(severity_id, line.action === 'audit.exported' || /^(api_key|member)\.(?!used)/.test(line.action) ? 2 : 1, line.action);
    assert.ok([1, 2, 3, 4].includes(activity_id) && activity_name, line.action);
    assert.is(new Date(time).toISOString(), line.created_at);
    const { version, uid, event_code, tenant_uid, product } = metadata as Record<string, unknown>;
    assert.equal([version, uid, event_code, tenant_uid], ['1.4.0', line.id, line.action, p.tenant_id]);
    assert.equal(product, { name: 'Annals', vendor_name: 'Annals' });
    assert.is((actor as { user?: { uid: string } }).user?.uid ?? null, line.user_id);
    assert.is((api as { operation: string }).operation, line.action);
    assert.is((src_endpoint as { ip?: string }).ip ?? null, line.ip);
    if (class_uid === 6003) {
      const name = line.resource_name ? { name: line.resource_name } : {};
      assert.equal(resources, [{ type: line.resource_type, uid: line.resource_id, ...name }]);
    }
    assert.is((event as unknown as { message: string }).message, line.summary);
    assert.equal(unmapped, { agent_id: line.agent_id, meta: line.meta, position: line.position, changes: line.changes });
  }
});

test('an audit log export waits until the projection has reached the requested position; a request with a malformed position, or one beyond the log, is refused', async () => {
  p.projectionDelay.ms = 150;
  const created = await write('Just now');
  const token = tokenOf(created);
  const id = (created.body as { id: string }).id;
  assert.ok((await exportLog('', { 'consistency-token': token })).text.includes(id), 'by the header');
  const next = await write('And now');
  assert.ok((await exportLog(`to_position=${tokenOf(next)}`)).text.includes((next.body as { id: string }).id), 'by the parameter');
  p.projectionDelay.ms = 0;
  const exports = p.eventsOf('AuditExported').length;
  const far = '999999999999:999999999999';
  const refusals = [
    [503, await exportLog(`to_position=${far}`)],
    [503, await exportLog('', { 'consistency-token': far })],
    [400, await exportLog('', { 'consistency-token': 'nonsense' })],
    [422, await exportLog('to_position=nonsense')],
    [422, await exportLog('to_position=2026-01-01T00:00:00Z')],
    [422, await exportLog('format=xml')],
    [422, await exportLog('from=1')],
    [422, await exportLog('sort=created_at')],
    [422, await exportLog('format=csv&format=ocsf')],
    [422, await exportLog('to_position=0:0&to_position=0:0')],
    [422, await exportLog('__proto__=1')],
    [403, await exportLog('', {}, (await addMember(p, 'MEMBER')).key)],
    [401, await exportLog('', {}, 'nonsense')],
  ] as const;
  for (const [status, answer] of refusals) {
    assert.is(answer.status, status, answer.text);
    assert.is(answer.headers.get('content-type'), 'application/problem+json');
  }
  assert.ok(refusals[0][1].headers.get('retry-after'));
  assert.is(p.eventsOf('AuditExported').length, exports, 'and nothing was exported');
});

test('an audit log export is refused if the event that records the export cannot be appended', async () => {
  const over = p.log.outage();
  const answer = await exportLog();
  over();
  assert.is(answer.status, 503, answer.text);
});

test('an audit log export is aborted if the projection is reset while the export is running', async () => {
  const reads = p.reads as { passed: typeof p.reads.passed };
  const { passed } = reads;
  reads.passed = () => Promise.reject(new Error('the projection is behind the position'));
  const response = await p.app.request(path, { headers: { authorization: `Bearer ${auditor.key}` } });
  const ended = await response.text().then(
    () => 'complete',
    () => 'broken',
  );
  reads.passed = passed;
  assert.equal([response.status, ended], [200, 'broken']);
});

test("an export by a super-admin is recorded in the tenant's audit log", async () => {
  const other = await p.send('POST', '/admin/tenants', { body: { name: 'Other', slug: 'other', owner_email: 'o@example.com' } });
  const { id, owner_key } = other.body as { id: string; owner_key: string };
  assert.is((await p.send('GET', `/tenant/${id}/audit-logs/export`)).status, 403);
  await p.send('POST', `/admin/tenants/${id}/break-glass`, { body: { reason: 'a test', minutes: 5 } });
  assert.is((await p.send('GET', `/tenant/${id}/audit-logs/export`)).status, 200);
  await p.waitForProjections();
  const actions = linesOf(await p.send('GET', `/tenant/${id}/audit-logs/export`, { key: owner_key })).map(({ action }) => action);
  assert.ok(actions.includes('super_admin.read') && actions.includes('audit.exported'), actions.join());
});

afterLastTest(() => p.close());

test.run();
