// limit: 240 s for this file (test/run.ts)
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { verifyAuditExport } from '../../infra/audit/verify-audit-export.mjs';
import { exportTenant } from '../../infra/cli/audit/export-tenant.ts';
import { checkAnchor, withPostgres } from '../../infra/health/health-checks.ts';
import { ADMIN_KEY, type RunningPlatform } from '../faults/running-platform.ts';
import { deadline } from '../fixtures/load-factor.ts';
import { withProcessPlatform } from '../fixtures/process-platform.ts';

type Head = { size: number; anchored_at: string | null };
type Request = { path: string; key: string; body: string };

/**
 * Starts a receiver for signed audit log heads. It answers the first request with 503, breaks the connection of the
 * second one, and accepts all later ones.
 */
const openAnchor = async () => {
  const requests: Request[] = [];
  const server = createServer(async (request, response) => {
    requests.push({ path: request.url!, key: String(request.headers['idempotency-key']), body: await text(request) });
    if (requests.length === 2) return void request.socket.destroy();
    response.writeHead(requests.length === 1 ? 503 : 204).end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  return { requests, port, close: () => new Promise((resolve) => server.close(resolve)) };
};

type Anchor = Awaited<ReturnType<typeof openAnchor>>;

/** Runs a test with a receiver for heads, and a platform with these settings. */
const withAnchor = async (
  settings: (anchor: Anchor) => NodeJS.ProcessEnv,
  use: (platform: RunningPlatform, anchor: Anchor) => Promise<void>,
): Promise<void> => {
  const anchor = await openAnchor();
  await withProcessPlatform((platform) => use(platform, anchor), settings(anchor)).finally(anchor.close);
};

test('each signed head of an audit log is posted until the receiver accepts it, and then never again; the API shows when the head was accepted', () =>
  withAnchor(
    ({ port }) => ({ AUDIT_ANCHOR_URL: `http://127.0.0.1:${port}/heads?token=a`, EGRESS_ALLOW: `127.0.0.1:${port}` }),
    async (platform, anchor) => {
      const { id } = await platform.firstTenant();
      const heads = async (): Promise<Head[]> => JSON.parse((await platform.call('GET', `/tenant/${id}/audit-logs/heads`)).text) as Head[];
      let shown: Head[] = [];
      for (const isOver = deadline(90_000); !isOver() && !shown[0]?.anchored_at; shown = await heads()) await sleep(500);
      assert.ok(shown[0]?.anchored_at, 'the head must be anchored');
      assert.ok(anchor.requests.length >= 3);
      const [first, , third] = anchor.requests;
      assert.equal(third, first, 'the same head is posted again, with the same key');
      assert.is(first!.path, '/heads?token=a');
      const log = platform.openLog();
      const recorded = await Array.fromAsync(log.read(`auditanchor-${id}.${id}`));
      await log.close();
      assert.equal(
        recorded.map(({ type, data }) => [type, (data as { size: number }).size, (data as { status: number }).status]),
        [['AuditHeadAnchored', shown.at(-1)!.size, 204]],
      );
      // The event that records the anchoring of a head must not lead to another head. Otherwise, heads would be signed
      // and posted forever.
      const count = anchor.requests.length;
      await sleep(12_000);
      assert.is(anchor.requests.length, count);
      assert.is((await heads()).length, shown.length);
      const [file, anchors] = [join(platform.dir, 'tenant.jsonl'), join(platform.dir, 'anchors.jsonl')];
      writeFileSync(anchors, anchor.requests.map(({ body }) => body).join(''));
      assert.is(await exportTenant({ tenant: id, to: file, wait: false, url: platform.url, key: ADMIN_KEY }), 0);
      assert.ok((await verifyAuditExport(file, { anchors })).ok);
      const { public_key, tenant_id } = JSON.parse(first!.body) as { public_key: string; tenant_id: string };
      assert.equal([public_key.length, tenant_id], [43, id]);
    },
  ));

test('no signed head of an audit log is sent if AUDIT_ANCHOR_URL is an address on this machine that EGRESS_ALLOW does not name', () =>
  withAnchor(
    ({ port }) => ({ AUDIT_ANCHOR_URL: `http://127.0.0.1:${port}/heads` }),
    async (platform, anchor) => {
      const { id } = await platform.firstTenant();
      for (const isOver = deadline(60_000); !isOver(); await sleep(500))
        if ((await platform.call('GET', `/tenant/${id}/audit-logs/heads`)).text !== '[]') break;
      await sleep(15_000);
      assert.equal(anchor.requests, []);
      const [head] = JSON.parse((await platform.call('GET', `/tenant/${id}/audit-logs/heads`)).text) as Head[];
      assert.is(head!.anchored_at, null);
      const databaseUrl = platform.serviceVariables().DATABASE_URL;
      const check = (url: string | undefined, now: number) => withPostgres(databaseUrl, (client) => checkAnchor(client, url, now));
      const hour = 3_600_000;
      assert.is((await check(undefined, Date.now())).level, 'none');
      assert.is((await check('https://anchor.test/', Date.now())).level, 'ok', 'the worker still tries');
      const failed = await check('https://anchor.test/', Date.now() + hour);
      assert.is(failed.level, 'fail');
      assert.match(failed.message, /^anchor\.test has not received \d+ heads? of the audit logs, the oldest of 20/);
    },
  ));

test.run();
