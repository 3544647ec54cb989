// limit: 480
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { ALL_RULES, violationsOn } from '../fixtures/accessibility.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { createAgent, createIntegration, deliver, startConsole } from '../fixtures/console-platform.ts';
import { createRunner } from '../fixtures/console-sessions.ts';
import { carryOut, HANDS, type Task } from '../fixtures/console-tasks.ts';
import { inOneHour } from '../fixtures/one-hour.ts';
import { signAuditHeads } from '../fixtures/sign-audit-heads.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { addMember } from '../fixtures/users.ts';

const AGENTS = 40;
const MEMBERS = 18;
const BLOCKED = 200;
const DAY_MS = 86_400_000;

const stage = async () => {
  const p = await startConsole();
  const agents: string[] = [];
  for (let number = 0; number < AGENTS; number++) agents.push(await createAgent(p, `Agent ${String(number).padStart(2, '0')}`));
  for (let number = 0; number < MEMBERS; number++) await addMember(p, 'MEMBER', p.tenant_id, `member.${number}@example.com`);
  const hook = await createIntegration(p, agents[0]!);
  const rules = [{ name: 'no-pushes', kind: 'event_filter', options: { deny: ['push'] }, action: 'block' }];
  assert.is((await p.send('PUT', `${p.tenant}/guardrails`, { body: rules })).status, 200);
  for (let number = 0; number < BLOCKED; number++) await deliver(p, hook, 'push', { number });
  for (const number of [5, 6]) assert.is((await p.send('DELETE', `${p.tenant}/agents/${agents[number]}`)).status, 204);
  p.clock.now = () => Date.now() - 60 * DAY_MS;
  const earlier = await createAgent(p, 'Agent of an earlier month');
  p.clock.now = Date.now;
  await p.waitForProjections();
  await signAuditHeads(p, [p.tenant_id]);
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  return { p, agents, hook, earlier, server, browser: await launchChromium(server.port) };
};
const given = chromium === undefined ? null : await stage();
const { dir } = createTempDirectory();

/** A task on this tenant. `isLocal`: on the loopback address, where browsers check signatures without https. */
type OwnTask = Task<NonNullable<typeof given>> & { readonly isLocal?: true };

const nav = (path: string): string => `.sidebar nav a[href$="${path}"]`;
const NUMBER = { pointer: 10, keyboard: 20 } as const;

/** Limits an agent to $1 per hour, and reserves $0.90 of it. */
const spendMost = async (agent: string): Promise<void> => {
  const { p } = given!;
  await inOneHour();
  const limited = await p.send('PUT', `${p.tenant}/agents/${agent}/budget`, { body: { hourly_limit_usd: 1 } });
  assert.is(limited.status, 200, limited.text);
  const body = { amount_usd: 0.9, ttl_seconds: 3_600 };
  const reserved = await p.send('POST', `${p.tenant}/agents/${agent}/budget/reserve`, { body, key: await createRunner(p, agent) });
  assert.is(reserved.status, 201, reserved.text);
  await p.waitForProjections();
};

const attentionOf = (kind: string, agent: string): string => `#main [data-attention="${kind}"]:has(a[href*="${agent}"])`;

/** Runs a program of the platform. @returns its exit code and what it has printed */
const run = (...args: string[]): Promise<{ readonly code: number; readonly text: string }> =>
  new Promise((resolve) => {
    execFile(process.execPath, args, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), text: `${stdout}${stderr}` }),
    );
  });

/** The two ways to verify a file without the platform: the command line, and the script for auditors. */
const VERIFIERS = { pointer: ['infra/main.ts', 'verify', '--audit'], keyboard: ['infra/audit/verify-audit-export.mjs'] } as const;

/** Verifies a file with proofs; after a change, it must be refused. */
const verifyOffline = async (file: string, verifier: readonly string[]): Promise<void> => {
  const changed = `${file}.changed`;
  writeFileSync(changed, readFileSync(file, 'utf8').replace('"Agent 00"', '"Agent 99"'));
  const { code, text } = await run(...verifier, file);
  assert.is(code, 0, text);
  assert.is((await run(...verifier, changed)).code, 1, verifier.join(' '));
};

/** Opens the link of an invitation in another browser, and joins with two clicks. */
const joinBy = async (link: string, hand: keyof typeof HANDS): Promise<void> => {
  const { p, browser } = given!;
  const { page, faults } = await openPage(browser, '', { viewport: { width: 375, height: 812 } });
  const urls: string[] = [];
  page.on('request', (request) => void urls.push(`${request.url()} ${request.headers().referer ?? ''}`));
  await page.goto(link);
  await page.waitForSelector('button:has-text("Join")');
  assert.match(await page.innerText('main'), /invites you to .* as AUDITOR/);
  assert.not.ok(page.url().includes('inv_'), 'the token leaves the address');
  if (hand === 'pointer') assert.equal(await violationsOn(page, ALL_RULES), []);
  await HANDS[hand].open(page, 'form[action$="/join"] button');
  assert.match(await page.innerText('[data-secret]'), /ann_/);
  if (hand === 'pointer') assert.equal(await violationsOn(page, ALL_RULES), []);
  await HANDS[hand].open(page, 'main a.primary');
  assert.match(page.url(), new RegExp(`${p.base}\\?after=`));
  await page.goto(`${p.base}/audit`);
  assert.is(await page.locator('h1').innerText(), 'Audit log');
  assert.is(await page.locator('a[href*="createAgent"]').count(), 0);
  const leaked = urls.filter((one) => one.slice(one.indexOf('/console')).includes('inv_') && !one.includes('#'));
  assert.equal([leaked, faults.found], [[], []]);
  await page.context().close();
};

const chosenFile = async (page: Page, open: () => Promise<void>, file: string): Promise<void> => {
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), open()]);
  await chooser.setFiles(file);
};

const tasksOf = (hand: keyof typeof HANDS): Readonly<Record<string, OwnTask>> => ({
  'rotate a secret': {
    clicks: 4,
    fields: 1,
    run: async ({ p, page, click, fill }) => {
      const before = p.eventsOf('IntegrationSecretRotated').length;
      await click(nav('/integrations'));
      await click('#main [data-kind="integration"] a.row-link');
      await click('#main a[href*="rotateWebhookSecret"]');
      await fill('[name="/overlap_seconds"]', '2');
      await click('[data-act]');
      await page.waitForSelector('[data-secret]');
      assert.is(p.eventsOf('IntegrationSecretRotated').length, before + 1);
    },
  },
  'restore a deleted agent': {
    clicks: 4,
    fields: 0,
    isAboutDeleted: true,
    run: async ({ p, page, click }) => {
      const before = p.eventsOf('AgentRestored').length;
      await click(nav('/agents'));
      await click('#main a[href*="deleted=true"]');
      await click('#main [data-kind="agent"] a.row-link');
      await click('#main form[action*="restoreAgent"] button');
      assert.is(p.eventsOf('AgentRestored').length, before + 1);
      assert.match(await page.innerText('h1'), /Agent 0[56]/);
    },
  },
  'release 200 blocked deliveries to another agent': {
    clicks: 4,
    fields: 2,
    run: async ({ p, agents, page, click, fill, choose }) => {
      await click(nav('/deliveries'));
      await click('#main a:has([data-count="blocked"])');
      await click('#main a.primary[href*="replayTenantDeliveries"]');
      await choose('#f-target_agent_id', 'Agent 07');
      await fill('[name="/release_reason"]', 'The rule was too strict');
      await click('[data-act]');
      const [requested] = p.eventsOf('DeliveriesReplayRequested').slice(-1) as unknown as { data: Record<string, unknown> }[];
      assert.is(requested!.data.agent_id, agents[7]);
      assert.match(await page.innerText('main'), new RegExp(String(BLOCKED)));
    },
  },
  'see that an agent spends too much, and lower its budget': {
    clicks: 3,
    fields: 1,
    run: async ({ p, agents, page, click, fill }) => {
      const agent = agents[NUMBER[hand]]!;
      await spendMost(agent);
      await page.waitForSelector(attentionOf('budget_near', agent));
      await click(`${attentionOf('budget_near', agent)} a[href*="changeAgentBudget"]`);
      await fill('[name="/hourly_limit_usd"]', '0.5');
      await click('[data-act]');
      await page.waitForSelector(attentionOf('budget_spent', agent));
      assert.is((p.eventsOf('AgentBudgetChanged').at(-1)!.data as { hourly_limit_micros: number }).hourly_limit_micros, 500_000);
    },
  },
  'see that an agent spends too much, and pause it': {
    clicks: 3,
    fields: 0,
    run: async ({ p, agents, page, click }) => {
      const agent = agents[NUMBER[hand] + 1]!;
      await spendMost(agent);
      await page.waitForSelector(attentionOf('budget_near', agent));
      await click(`${attentionOf('budget_near', agent)} a.row-link`);
      assert.match(await page.innerText('#main .budget-bar'), /\$0\.90 of \$1\.00 this hour/);
      await click('#main [popovertarget^="confirm-updateAgent"]', false);
      await click('dialog:popover-open form button');
      const shown = (await p.send('GET', `${p.tenant}/agents/${agent}`)).body as { is_active: boolean };
      assert.is(shown.is_active, false);
    },
  },
  'create a job, and see what an existing blackout skips of it': {
    clicks: 4,
    fields: 5,
    run: async ({ p, page, click, fill, choose }) => {
      const tomorrow = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10);
      const blackout = { name: `Freeze ${hand}`, start_date: tomorrow, end_date: tomorrow };
      assert.is((await p.send('POST', `${p.tenant}/cron-blackouts`, { body: blackout })).status, 201);
      await p.waitForProjections();
      await click(nav('/schedules'));
      await click('#main a.primary[href*="createCronJob"]');
      await choose('#f--of-agent_id', 'Agent 08');
      await fill('[name="/name"]', `Nightly report, by ${hand}`);
      await fill('[name="/cron_expr"]', '0 9 * * *');
      await fill('[name="/body_bytes"]', 'Write the report');
      await page.waitForSelector(`[data-panel] [data-due^="${tomorrow}"]:has-text("suppressed")`);
      await click('[data-act]');
      await page.waitForSelector(`[data-due^="${tomorrow}"][data-state="suppressed"]`);
      assert.is(await page.locator('[data-state="suppressed"]').count(), 1);
      assert.match(await page.innerText('h1'), /Nightly report/);
    },
  },
  'export one month with proofs, and verify the file': {
    clicks: 5,
    fields: 1,
    isLocal: true,
    run: async ({ p, earlier, page, click, choose }) => {
      await click(nav('/audit'));
      await click('#main a[href$="/audit/heads"]');
      const month = new Date().toLocaleString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
      await choose('#export-month', month, true);
      const [download] = await Promise.all([page.waitForEvent('download'), click('#main a[download$=".proofs.jsonl"]', false)]);
      const file = join(dir, `${hand}.jsonl`);
      await download.saveAs(file);
      const text = readFileSync(file, 'utf8');
      assert.ok(text.includes('"Agent 00"') && !text.includes(earlier), 'the file has this month only');
      assert.ok(p.eventsOf('AgentCreated').some(({ id }) => id === earlier));
      await chosenFile(page, () => click('#export-file', false), file);
      await page.waitForSelector('export-check[data-state="proved"]');
      assert.match((await page.textContent('export-check output'))!, /verifies: \d+ entries/);
      await verifyOffline(file, VERIFIERS[hand]);
    },
  },
  'invite a person who can only read, and join as that person': {
    clicks: 4,
    fields: 2,
    run: async ({ page, click, fill, pick }) => {
      await click(nav('/members'));
      await click('#main a[href*="inviteMember"]');
      await fill('[name="/email"]', `daniel.${hand}@example.com`);
      await pick('/role', 'AUDITOR');
      await click('[data-act]');
      const link = await page.innerText('.secret-value code');
      assert.match(link, /^http:\/\/annals\.test\/console\/invitation#inv_/);
      await joinBy(link, hand);
    },
  },
});

for (const hand of ['pointer', 'keyboard'] as const)
  for (const [name, task] of Object.entries(tasksOf(hand)))
    browserTest(`with the ${hand}: ${name}, in ${task.clicks} clicks and ${task.fields} fields`, () => {
      const { browser, p, server } = given!;
      const baseURL = task.isLocal ? `http://127.0.0.1:${server.port}` : undefined;
      return carryOut({ browser, cookie: p.cookie, path: p.base, baseURL }, HANDS[hand], task, given!);
    });

afterLastTest(async () => {
  await given?.browser.close();
  await given?.server.close();
  await given?.p.close();
});

test.run();
