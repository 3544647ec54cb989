// limit: 240
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createTenant } from '../faults/tenants.ts';
import { startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { formIn, submittedBy } from '../fixtures/html-form.ts';
import { deadline, loadFactor } from '../fixtures/load-factor.ts';
import { runningPlatform } from '../fixtures/running-platform.ts';

const MAX_MS = 60_000;
const onPlatform = runningPlatform();

/** Simulates a browser without JavaScript: it keeps the session cookie, opens pages and submits forms. */
const browserOf = (base: string) => {
  let cookie = '';
  const own = { origin: base, 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' };
  const open = async (path: string): Promise<string> => {
    const response = await fetch(`${base}${path}`, { headers: { cookie } });
    const text = await response.text();
    assert.is(response.status, 200, `${path}: ${text.slice(0, 500)}`);
    return text;
  };
  /** Submits a form, and opens the page to which the response redirects. */
  const send = async (path: string, fields: URLSearchParams): Promise<string> => {
    const init = { method: 'POST', headers: { cookie, ...own }, body: fields.toString(), redirect: 'manual' } as const;
    const response = await fetch(`${base}${path}`, init);
    const set = response.headers.getSetCookie()[0];
    if (set) cookie = set.split(';')[0]!;
    const to = response.headers.get('location');
    return to ? open(to) : response.text();
  };
  return { open, send };
};

const decoded = (text: string): string => text.replaceAll('&amp;', '&').replaceAll('&#39;', "'");

/** Returns the URL of the page's link to the form of an operation. */
const linkTo = (page: string, operation: string): string => {
  const [, href] = new RegExp(`href="(/console/run/${operation}\\?[^"]*)"`).exec(page) ?? [];
  assert.ok(href, `there is no link to ${operation}: ${page.slice(0, 2_000)}`);
  return decoded(href);
};

const stepsDone = (page: string): string[] => [...page.matchAll(/data-step="(\w+)" data-done="true"/g)].map((found) => found[1]!);

test('without JavaScript, the pages of the first steps lead from an empty tenant to a delivery that a real runner acknowledges', () =>
  onPlatform(async (platform) => {
    const base = platform.url;
    const { key } = await createTenant(platform);
    const startedAt = Date.now();
    const { open, send } = browserOf(base);
    await send('/console/sign-in', new URLSearchParams({ key, return_to: '/console' }));
    const overview = await open('/console');
    const start = /href="(\/console\/t\/\w+\/start)"/.exec(overview)![1]!;

    const fill = async (operation: string, typed: Record<string, string>): Promise<string> => {
      const form = formIn(await open(linkTo(await open(start), operation)), operation);
      return send(`/console/run/${operation}`, submittedBy(form, typed));
    };
    assert.equal(stepsDone(await open(start)), []);
    const first = await fill('createAgent', { '/name': 'Reviewer', '/slug': 'reviewer' });
    assert.equal(stepsDone(first), ['agent'], 'the form leads back to the steps');
    assert.match(await fill('connectWebhookIntegration', {}), /data-secret/);
    assert.equal(stepsDone(await open(start)), ['agent', 'integration']);
    const shown = await fill('createRunnerKey', {});
    const [runnerKey] = /ann_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}/.exec(shown)!;
    const reloaded = await open(start);
    assert.match(reloaded, /data-earlier-key[\s\S]+The key was shown once[\s\S]+&lt;runner key&gt;[\s\S]+Make a new key/);
    assert.not.ok(reloaded.includes(runnerKey!));
    assert.ok(decoded(shown).includes(`annals runner --agent reviewer --exec 'cat; echo'`));

    const runnerEnv = { ...unconfiguredEnvironment(), ANNALS_URL: base, ANNALS_KEY: runnerKey, ANNALS_DATA: platform.dir };
    const runner = startProgram(process.execPath, ['infra/main.ts', 'runner', '--agent', 'reviewer', '--exec', 'cat; echo'], {
      env: runnerEnv,
    });
    platform.stopOnClose(runner);
    const until = async (step: string): Promise<string> => {
      for (const isOver = deadline(MAX_MS); !isOver(); await sleep(100)) {
        const page = await open(start);
        if (stepsDone(page).includes(step)) return page;
      }
      throw new Error(`the step ${step} is never done: ${runner.output()}`);
    };
    const connected = await until('runner');
    assert.match(connected, /data-step="delivery"[\s\S]+Send a test delivery/);
    await send('/console/run/sendTestDelivery', submittedBy(formIn(connected, 'sendTestDelivery')));
    const done = await until('watch');
    for (const name of ['accepted', 'acknowledged']) assert.match(done, new RegExp(`data-time="${name}"[\\s\\S]*?after \\d+ ms`), name);
    assert.match(done, /data-time="published"/);
    assert.ok(Date.now() - startedAt < MAX_MS * loadFactor(), `${Date.now() - startedAt} ms`);
    assert.equal(stepsDone(done), ['agent', 'integration', 'runner', 'delivery', 'watch']);
  }));

test.run();
