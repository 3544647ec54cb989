// limit: 240
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { exportTenant } from '../../infra/cli/audit/export-tenant.ts';
import { listen } from '../../infra/http/listen.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { createAgent, startConsole } from '../fixtures/console-platform.ts';
import { signAuditHeads } from '../fixtures/sign-audit-heads.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const stage = async () => {
  const p = await startConsole();
  const agent = await createAgent(p, 'Reviewer');
  await createAgent(p, 'Triage');
  const models: string[] = [];
  for (const slug of ['one', 'two', 'three']) {
    const body = { provider: 'p', slug, name: `Model ${slug}`, available_to_all_tenants: true };
    models.push(((await p.send('POST', '/admin/models', { body })).body as { id: string }).id);
  }
  const set = await p.send('PUT', `${p.tenant}/agents/${agent}/models`, { body: { model_ids: models } });
  assert.is(set.status, 200, set.text);
  await p.waitForProjections();
  await signAuditHeads(p, [p.tenant_id]);
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  const browser = await launchChromium(server.port);
  // In browsers, the loopback address is a secure context, even without https: they check signatures there, and send the
  // header Sec-Fetch-Site with forms.
  const origin = `http://127.0.0.1:${server.port}`;
  const open = async (path: string) => {
    const { page, faults } = await openPage(browser, '', { baseURL: origin, viewport: { width: 1280, height: 900 } });
    const [name = '', value = ''] = p.cookie.split('=');
    await page.context().addCookies([{ name, value, url: origin }]);
    await page.goto(path);
    return { page, errors: () => faults.found.filter((fault) => !fault.startsWith('other host')) };
  };
  return { p, agent, models, server, browser, origin, open };
};
const given = chromium === undefined ? null : await stage();
const { dir } = createTempDirectory();

/** Changes one character of a text to another letter. */
const flipped = (text: string, at: number): string => text.slice(0, at) + (text[at] === 'a' ? 'b' : 'a') + text.slice(at + 1);

browserTest('the proof of an entry shows a tick; if one byte of the answer of the server is changed, it shows a cross', async () => {
  const { p, open } = given!;
  const event = p.eventsOf('AgentCreated')[0]!.event_id;
  const { page } = await open(`${p.base}/events/${event}`);
  await page.click('proof-check button');
  await page.waitForSelector('proof-check[data-state="proved"]');
  assert.ok(await page.isVisible('proof-check .proof-mark .icon:nth-child(1)'));
  for (const [path, change] of [
    ['events', (text: string) => flipped(text, text.indexOf('Reviewer'))],
    ['audit-logs/proof', (text: string) => flipped(text, text.indexOf('"root":"') + 12)],
    ['audit-logs/keys', (text: string) => flipped(text, text.indexOf('"public_key":"') + 18)],
  ] as const) {
    const url = new RegExp(`/tenant/[^/]+/${path}(\\?|$)`);
    await page.route(url, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: change(await response.text()) });
    });
    await page.click('proof-check button');
    await page.waitForSelector('proof-check[data-state="wrong"]');
    assert.ok(await page.isVisible('proof-check .proof-mark .icon:nth-child(2)'), path);
    assert.not.ok(await page.isVisible('proof-check .proof-mark .icon:nth-child(1)'), path);
    await page.unroute(url);
  }
  await page.context().close();
});

browserTest('a chosen export verifies in the browser; after one byte of a line was changed, the page names the line', async () => {
  const { p, open, origin } = given!;
  const file = join(dir, 'audit.jsonl');
  const { log } = console;
  console.log = () => {};
  const code = await exportTenant({ tenant: p.tenant_id, to: file, wait: false, url: origin, key: p.key });
  console.log = log;
  assert.is(code, 0);
  const lines = readFileSync(file, 'utf8').split('\n');
  const { page, errors } = await open(`${p.base}/audit/heads`);
  await page.setInputFiles('#export-file', file);
  await page.waitForSelector('export-check[data-state="proved"]');
  assert.match(String(await page.textContent('export-check output')), /audit\.jsonl verifies: \d+ entries under 1 signed head,/);
  for (const at of [1, 3, lines.length - 2]) {
    const changed = join(dir, `changed-${at}.jsonl`);
    writeFileSync(changed, lines.with(at, flipped(lines[at]!, 90)).join('\n'));
    await page.setInputFiles('#export-file', changed);
    await page.waitForSelector('export-check[data-state="wrong"]');
    assert.is(await page.getAttribute('export-check li', 'data-line'), String(at + 1));
    assert.match(String(await page.textContent('export-check output')), `changed-${at}.jsonl does not verify`);
  }
  assert.equal(errors(), []);
  await page.context().close();
});

browserTest('models of a chain that are dragged into another order are saved with one event, as by the keyboard', async () => {
  const { p, agent, models, open } = given!;
  const chain = () => p.eventsOf('AgentModelChainReordered');
  const before = chain().length;
  const { page, errors } = await open(`${p.base}/agents/${agent}`);
  const idsOn = () =>
    page.$$eval('[data-chain] > li', (items) => items.map((item) => (item as unknown as { dataset: { id: string } }).dataset.id));
  assert.equal(await idsOn(), models);
  await page
    .locator('[data-chain] > li')
    .nth(2)
    .dragTo(page.locator('[data-chain] > li').nth(0), { targetPosition: { x: 20, y: 2 } });
  await page.waitForURL('**after=*');
  const dragged = [models[2], models[0], models[1]];
  assert.equal(await idsOn(), dragged);
  assert.is(chain().length, before + 1);
  await page.focus('[data-chain] > li:nth-child(2) form button');
  await page.keyboard.press('Enter');
  await page.waitForSelector(`[data-chain] > li:first-child[data-id="${models[0]}"]`);
  assert.is(chain().length, before + 2);
  assert.equal(
    Object.keys(p.eventsOf('AgentModelChainReordered').at(-1)!.data),
    Object.keys(p.eventsOf('AgentModelChainReordered').at(-2)!.data),
  );
  assert.equal(errors(), []);
  await page.context().close();
});

afterLastTest(async () => {
  await given?.browser.close();
  await given?.p.close();
  await given?.server.close();
});

test.run();
