// limit: 360
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectRunner, type Handler } from '../../infra/runner/runner-client.ts';
import type { RunningPlatform } from '../faults/running-platform.ts';
import { type Agent, createDataset } from '../faults/tenants.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { eventually } from '../fixtures/child-process.ts';
import { launchChromium } from '../fixtures/chromium.ts';
import { carryOut, HANDS } from '../fixtures/console-tasks.ts';
import { timeout } from '../fixtures/live-console.ts';
import { runningPlatform } from '../fixtures/running-platform.ts';
import { signInCookie } from '../fixtures/sign-in-cookie.ts';

const AGENTS = 40;
const DRAFT_MS = 200;

const onPlatform = runningPlatform();

/** What the runner has read, and why it has stopped. */
type Record = { readonly questions: unknown[]; readonly signals: string[] };

/** An agent whose answer to a question does not end. */
const thinkOn =
  (record: Record): Handler =>
  async ({ data }, { session }) => {
    record.questions.push((data as { message: { content: string } | null }).message?.content);
    const { signal } = session!;
    for (let part = 1; !signal.aborted; part++) {
      session!.draft(`I am still thinking, part ${part}`);
      await sleep(DRAFT_MS);
    }
    record.signals.push(signal.reason.kind);
  };

const startAgent = async ({ url, dir, stopOnClose }: RunningPlatform, { id, runnerKey: key }: Agent): Promise<Record> => {
  const control = new AbortController();
  const record: Record = { questions: [], signals: [] };
  const runner = await connectRunner({ url, key, dir: join(dir, id), signal: control.signal, report: console.log });
  const ended = runner.receive(thinkOn(record));
  stopOnClose({
    stop: async () => {
      control.abort();
      await ended;
    },
  });
  return record;
};

browserTest('with pointer and keyboard: ask an agent a question and stop its answer, in 4 clicks and 2 fields', () =>
  onPlatform(async (platform) => {
    const { agents } = await createDataset(platform, { tenants: 1, agents: AGENTS, hooks: 0 });
    const agent = agents.at(-1)!;
    const record = await startAgent(platform, agent);
    const browser = await launchChromium(Number(new URL(platform.url).port));
    const cookie = await signInCookie(platform.url, agent.tenant.key);
    const start = { browser, cookie, path: `/console/t/${agent.tenant.id}`, baseURL: platform.url };
    try {
      for (const [name, hand] of Object.entries(HANDS))
        await carryOut(
          start,
          hand,
          {
            clicks: 4,
            fields: 2,
            run: async ({ page, click, fill, choose }) => {
              await click('.sidebar nav a[href$="/sessions"]');
              await click('#main a.primary[href*="start="]');
              await choose('#start-agent', agent.slug, true);
              await fill('[data-form="startSession"] textarea', `Why did the refund fail? (${name})`);
              await click('[data-form="startSession"] button.primary');
              await page.waitForSelector('[data-kind="draft"]:has-text("I am still thinking")', timeout());
              await click('[data-form="interruptSession"] button');
              await eventually('the runner stops', () => record.signals.length === record.questions.length);
              await page.waitForSelector('[data-kind="draft"]', { state: 'detached', ...timeout() });
              assert.is(record.questions.at(-1), `Why did the refund fail? (${name})`);
              assert.is(await page.locator('[data-form="appendMessage"] textarea').count(), 1, 'the session continues');
            },
          },
          {},
        );
      assert.equal(record.signals, ['interrupted', 'interrupted']);
    } finally {
      await browser.close();
    }
  }),
);

test.run();
