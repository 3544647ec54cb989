// share
import { randomUUID } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import pino from 'pino';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createThreatScan } from '../../infra/files/scan-thread.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';
import { loadFactor, repeatIfBusy } from '../fixtures/load-factor.ts';
import { createSessionPlatform } from '../fixtures/session-platform.ts';
import { openShare } from '../fixtures/share.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';

const FILE_BYTES = 25 * 1024 * 1024;
/** Each of these once held the event loop for many seconds, or needed many times its size in memory. */
const HOSTILE = [
  ['escaped names of a PDF', '%PDF-1.7\n', '#41/A '],
  ['half escapes of a PDF', '%PDF-1.7\n', '#4/#'],
  ['names of a PDF that only start like active ones', '%PDF-1.7\n', '/JavaScripts'],
  ['open tags of a page', '<!doctype html>', '<a " on" on" on'],
  ['a rich text', '{\\rtf1', '\\obj'],
  ['starts of archives', 'PK\x03\x04', 'PK\x01\x02PK\x03\x04'],
] as const;
const MAX_LAG_MS = 400;

const share = openShare();
const p = await createSessionPlatform();
const made = await p.send('POST', `${p.tenant}/webhook-integrations`, {
  body: { provider: 'github', agent_id: p.agent.id, label: 'Small deliveries', secret: SECRET },
});
assert.is(made.status, 201, made.text);

const deliver = async (number: number): Promise<void> => {
  const body = JSON.stringify({ number });
  const headers = { 'x-github-event': 'push', 'x-github-delivery': randomUUID(), 'x-hub-signature-256': sign(body) };
  const answer = await p.send('POST', `/hooks/inbound/${(made.body as { id: string }).id}`, { key: '', raw: body, headers });
  assert.is(answer.status, 202, answer.text);
};

share.test(
  'while hostile files of 25 MiB are scanned, the event loop is never held for long and small deliveries are accepted',
  async () => {
    for (const [label, start, repeated] of share.casesOf(HOSTILE, ([name]) => name)) {
      const raw = formBody({ name: 'upload', filename: 'a', content: start + repeated.repeat((FILE_BYTES - 100) / repeated.length) });
      const lag = monitorEventLoopDelay({ resolution: 10 });
      let isDone = false;
      const scanning = p.send('POST', `${p.tenant}/files/scan`, { raw, headers: { 'content-type': FORM_TYPE } }).finally(() => {
        isDone = true;
      });
      let deliveries = 0;
      lag.enable();
      while (!isDone) await repeatIfBusy(() => deliver(deliveries++));
      lag.disable();
      const most = Math.round(lag.max / 1e6);
      const answer = await scanning;
      assert.is(answer.status, 200, `${label}: ${answer.text}`);
      console.log(
        `${label}: ${(answer.body as { verdict: string }).verdict}, ${deliveries} deliveries, event loop held for up to ${most} ms`,
      );
      assert.ok(most < MAX_LAG_MS * loadFactor(), `${label}: ${most} ms`);
      assert.ok(deliveries > 1, label);
    }
  },
);

const encoder = new TextEncoder();
const file = (text: string) => ({ bytes: encoder.encode(text), filename: 'a.txt', contentType: null });

test('a file that exceeds the time limit is not reported as checked, and the next file is checked by a new thread', async () => {
  const logger = pino({ level: 'silent' });
  assert.is(await createThreatScan({ logger, timeLimitMs: 1 })(file('a text')), null);
  const scan = createThreatScan({ logger, timeLimitMs: 30_000 });
  const results = await Promise.all([scan(file('a text')), scan(file('<script>1</script>'))]);
  assert.equal(
    results.map((one) => one!.findings.map(({ code }) => code)),
    [[], ['active_content']],
  );
});

afterLastTest(() => p.close());

test.run();
