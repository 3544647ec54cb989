// limit: 240
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Browser, Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectRunner, type Handler, type LiveMessage, type LiveRunnerSession } from '../../infra/runner/runner-client.ts';
import { type Agent, createDataset } from '../faults/tenants.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { eventually } from '../fixtures/child-process.ts';
import { type Faults, launchChromium, openPage } from '../fixtures/chromium.ts';
import { follow, tabTo } from '../fixtures/keyboard.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { type LentPlatform, lentPlatform } from '../fixtures/running-platform.ts';
import { signInCookie } from '../fixtures/sign-in-cookie.ts';

const MAX_LATENESS_MS = 1_000;
const STEP_MS = 20_000;
const PHONE = { width: 375, height: 812 };

const onPlatform = lentPlatform();
const step = () => ({ timeout: STEP_MS * loadFactor() });

/** What the runner of the test has done: the types of its events, what it read, and when it wrote each of its texts. */
const createRecord = () => ({
  events: [] as string[],
  signals: [] as string[],
  decisions: [] as unknown[],
  said: new Map<string, number>(),
  /** The drafts that the page has shown. */
  seen: new Set<string>(),
});
type Record = ReturnType<typeof createRecord>;

/** An agent that answers, reads and writes files, and asks before it merges. */
const agentOf = (record: Record): Handler => {
  const say = async (session: LiveRunnerSession, content: string, attachment_ids: string[] = []): Promise<void> => {
    await session.append({ role: 'assistant', content, attachment_ids });
    record.said.set(content, Date.now());
  };
  const merge = async (session: LiveRunnerSession): Promise<void> => {
    const decision = await session.approve({ action: 'Merge pull request 42', detail: 'All checks have passed.' });
    record.decisions.push(decision);
    await say(session, `It is ${decision.decision}: ${decision.comment}`);
  };
  /** Shows two drafts, and appends the message when the test has seen both. */
  const writeSlowly = async (session: LiveRunnerSession): Promise<void> => {
    for (const text of ['The refund', 'The refund has <b>failed']) {
      session.draft(text);
      record.said.set(text, Date.now());
      await eventually(`the page shows ${text}`, () => record.seen.has(text));
    }
    await say(session, 'The refund has <b>failed</b>.');
  };
  const answer = async (session: LiveRunnerSession, { content, files }: LiveMessage): Promise<void> => {
    if (content?.startsWith('Merge')) return merge(session);
    if (content === 'Write slowly.') return writeSlowly(session);
    const [file] = files;
    if (!file) return say(session, `You wrote: ${content}`);
    const text = (await buffer(session.file(file))).toString();
    const { id } = await session.attach({ filename: 'report.txt', bytes: Buffer.from(text.toUpperCase()) });
    await say(session, `${file.filename} says: ${text}`, [id]);
  };
  return async ({ type, data }, { session }) => {
    record.events.push(type);
    const { message } = data as { message: { content: string } | null };
    if (message) await say(session!, `You wrote: ${message.content}`);
    for await (const received of session!.messages()) await answer(session!, received);
    if (session!.signal.aborted) record.signals.push(session!.signal.reason.kind);
  };
};

const startAgent = async ({ url, dir, stopOnClose }: LentPlatform, { runnerKey: key }: Agent): Promise<Record> => {
  const control = new AbortController();
  const record = createRecord();
  const runner = await connectRunner({ url, key, dir: join(dir, 'chat-runner'), signal: control.signal, report: console.log });
  const ended = runner.receive(agentOf(record));
  stopOnClose({
    stop: async () => {
      control.abort();
      await ended;
    },
  });
  return record;
};

type Chat = { readonly page: Page; readonly faults: Faults; readonly record: Record; readonly tenantPath: string; readonly agent: Agent };

/** Sees a message of the agent grow on the page until it is recorded, and checks that it is then there once. */
const seeDrafts = async (chat: Chat): Promise<void> => {
  const { page, record } = chat;
  await write(chat, 'Write slowly.');
  for (const text of ['The refund', 'The refund has <b>failed']) {
    await seeLive(chat, text, '[data-kind="draft"] .message-text');
    assert.is(await page.locator('[data-kind="draft"]').count(), 1);
    record.seen.add(text);
  }
  await seeLive(chat, 'The refund has <b>failed</b>.', '.message[data-kind="message"]');
  assert.equal(await page.locator('.message:has-text("The refund")').count(), 1);
  assert.is(await page.locator('[data-kind="draft"]').count(), 0);
};

const untilLive = (page: Page) => page.waitForSelector('#live[data-state="live"]', step());

/** Waits until the page shows a text of the agent without a reload. Checks how long after its append this is. */
const seeLive = async ({ page, record }: Chat, text: string, where = '.message.assistant'): Promise<void> => {
  const inTime = page.waitForSelector(`${where}:has-text(${JSON.stringify(text)})`, step());
  await eventually(`the agent says ${text}`, () => record.said.has(text));
  await inTime;
  const lateness = Date.now() - record.said.get(text)!;
  console.log(`"${text}" is shown after ${lateness} ms`);
  assert.ok(lateness <= MAX_LATENESS_MS * loadFactor(), `${text}: ${lateness} ms`);
};

/** Writes a message on the page, and waits for the page that follows. */
const write = async ({ page }: Chat, text: string): Promise<void> => {
  await page.fill('[data-form="appendMessage"] textarea', text);
  await Promise.all([page.waitForEvent('load', step()), page.click('[data-form="appendMessage"] button.primary')]);
  await untilLive(page);
};

const startByKeyboard = async ({ page, tenantPath, agent }: Chat): Promise<void> => {
  await page.goto(`${tenantPath}/agents/${agent.id}/sessions`);
  await tabTo(page, '[data-form="startSession"] textarea');
  await page.keyboard.type('Please review it.');
  await tabTo(page, '[data-form="startSession"] [name="/title"]');
  await page.keyboard.type('Review');
  await follow(page, '[data-form="startSession"] button');
  assert.match(page.url(), /\/sessions\/\w+\?/);
  await untilLive(page);
};

const exchangeFiles = async (chat: Chat): Promise<void> => {
  const { page } = chat;
  await page.setInputFiles('input[type="file"]', { name: 'build.log', mimeType: 'text/plain', buffer: Buffer.from('all green') });
  await Promise.all([page.waitForEvent('load', step()), page.click('button[data-form="addSessionAttachment"]')]);
  await write(chat, 'Here is the log.');
  assert.is(await page.locator('.message.user:has-text("Here is the log.") a[download="build.log"]').count(), 1);
  await seeLive(chat, 'build.log says: all green');
  const [download] = await Promise.all([page.waitForEvent('download', step()), page.click('.message.assistant a[download="report.txt"]')]);
  assert.is(await readFile(await download.path(), 'utf8'), 'ALL GREEN');
};

/** Approves by keyboard what the agent asks. */
const approve = async (chat: Chat): Promise<void> => {
  const { page, record } = chat;
  await write(chat, 'Merge it.');
  await page.waitForSelector('[data-kind="approval"][data-status="open"]', step());
  await tabTo(page, '[data-form="decideApproval"] textarea');
  await page.keyboard.type('After 18:00');
  await follow(page, '[data-form="decideApproval"] button[value="approved"]');
  await page.waitForSelector('[data-kind="approval"][data-status="approved"]:has-text("After 18:00")', step());
  await seeLive(chat, 'It is approved: After 18:00');
  const [{ decision, comment, decidedBy }] = record.decisions as [{ decision: string; comment: string; decidedBy: { email: string } }];
  assert.equal([decision, comment, decidedBy.email], ['approved', 'After 18:00', `${chat.agent.tenant.slug}@example.com`]);
};

const press = async ({ page }: Chat, operation: string): Promise<void> => {
  const [opener, button] = [`[popovertarget^="confirm-${operation}"]`, `[data-form="${operation}"] button`];
  if (await page.isVisible(opener)) await page.click(`${opener}:not(dialog button)`);
  await Promise.all([page.waitForEvent('load', step()), page.click(button)]);
  await untilLive(page);
};

/** The parts of the page that are cut, or that stick out of the window. */
const CUT = `[...document.querySelectorAll('#main :is(button, textarea, input, a, pre, strong, .badge, .message, .approval)')]
  .filter((one) => one.checkVisibility() && !one.closest('dialog, .hidden, .tabs'))
  .filter((one) => { const { left, right } = one.getBoundingClientRect(); return left < 0 || right > innerWidth || (!one.matches('input, textarea') && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== 'inline'); })
  .map((one) => one.outerHTML.slice(0, 200))`;

const checkOnPhone = async ({ page }: Chat): Promise<void> => {
  const wide = page.viewportSize()!;
  await page.setViewportSize(PHONE);
  assert.not.ok(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), 'the page has to be scrolled sideways');
  assert.equal(await page.evaluate(CUT), []);
  await page.setViewportSize(wide);
};

const withChat = (use: (chat: Chat) => Promise<void>): Promise<void> =>
  onPlatform(async (platform) => {
    const agent = (await createDataset(platform, { tenants: 1, agents: 1, hooks: 0 })).agents[0]!;
    const record = await startAgent(platform, agent);
    const browser: Browser = await launchChromium(Number(new URL(platform.url).port));
    try {
      const options = { baseURL: platform.url, viewport: { width: 1280, height: 800 } };
      const { page, faults } = await openPage(browser, await signInCookie(platform.url, agent.tenant.key), options);
      await use({ page, faults, record, agent, tenantPath: `/console/t/${agent.tenant.id}` });
    } finally {
      await browser.close();
    }
  });

browserTest('a person and a runner talk in the console: messages, files, an approval, an interruption and a cancellation', () =>
  withChat(async (chat) => {
    const { page, faults, record } = chat;
    await startByKeyboard(chat);
    await seeLive(chat, 'You wrote: Please review it.');
    await write(chat, 'And the tests?');
    await seeLive(chat, 'You wrote: And the tests?');
    await seeDrafts(chat);
    await exchangeFiles(chat);
    await approve(chat);
    await write(chat, 'Anything else?');
    await seeLive(chat, 'You wrote: Anything else?');
    assert.equal(record.events, ['annals.session.started'], 'one handler has talked until now');
    await checkOnPhone(chat);

    await press(chat, 'interruptSession');
    await eventually('the handler is told of the interruption', () => record.signals.length === 1);
    await write(chat, 'Go on.');
    await seeLive(chat, 'You wrote: Go on.');
    await press(chat, 'cancelSession');
    await eventually('the handler is told of the cancellation', () => record.signals.length === 2);
    assert.equal(record.signals, ['interrupted', 'cancelled']);
    assert.equal(record.events, ['annals.session.started', 'annals.session.message']);
    assert.is(await page.locator('[data-form="continueSession"]').count(), 1);
    await checkOnPhone(chat);
    assert.equal(faults.found, []);
  }),
);

test.run();
