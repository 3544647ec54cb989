// limit: 240
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { seedConsole, startConsole } from '../fixtures/console-platform.ts';

const stage = async () => {
  const p = await startConsole();
  const seeded = await seedConsole(p);
  await p.waitForProjections();
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  return { p, seeded, server, browser: await launchChromium(server.port) };
};
const given = chromium === undefined ? null : await stage();

/** Opens a page of the tenant. `act` gets the page; afterwards, the page must be without faults. */
const onPage = async (path: string, act: (page: Page) => Promise<void>): Promise<void> => {
  const { browser, p } = given!;
  const { page, faults } = await openPage(browser, p.cookie, { viewport: { width: 1280, height: 800 } });
  await page.goto(path.startsWith('/console') ? path : `${p.base}${path}`);
  await act(page);
  assert.equal(faults.found, []);
  await page.context().close();
};

const pressAll = async (page: Page, keys: string): Promise<void> => {
  for (const key of keys.split(' ')) await page.keyboard.press(key);
};
const focused = (page: Page): Promise<unknown> =>
  page.evaluate(`document.activeElement.getAttribute('href') ?? document.activeElement.name ?? document.activeElement.localName`);

browserTest('`?` lists exactly the keys that the page offers; Escape closes the list', async () => {
  await onPage('/agents', async (page) => {
    await page.keyboard.press('?');
    const keys = (await page.locator('dialog.keys dt').allInnerTexts()).map((text) => text.replaceAll('\n', ' '));
    const named = (await page.evaluate(
      `[...document.querySelectorAll('[data-hotkey]')].filter((one) => !one.hidden).map((one) => one.dataset.hotkey)`,
    )) as string[];
    assert.equal(new Set(keys), new Set([...named, 'j', 'k', 'Enter', 'Ctrl K']));
    for (const key of ['/', '[', '.', '?', 'g d', 'g a', 'g x']) assert.ok(keys.includes(key), key);
    await page.keyboard.press('Escape');
    assert.is(await page.locator('dialog.keys').count(), 0);
  });
});

browserTest('each navigation entry has its own keys, and they open its page', async () => {
  const { p } = given!;
  await onPage('', async (page) => {
    const entries = (await page.evaluate(
      `[...document.querySelectorAll('.sidebar nav a')].map((one) => [one.dataset.hotkey ?? '', one.getAttribute('href')])`,
    )) as [string, string][];
    assert.ok(entries.length >= 15);
    assert.is(new Set(entries.map(([keys]) => keys)).size, entries.length);
    for (const [keys, path] of entries.filter((_, index) => index % 4 === 1)) {
      assert.match(keys, /^g [a-z]$/);
      await page.goto(p.base);
      await pressAll(page, keys);
      await page.waitForURL(`**${path}`);
    }
  });
});

browserTest('`/` focuses the first filter of a list, also if the filters are closed', async () => {
  const fields = {
    ...{ '/agents': '[name="q"]', '/sessions': '#filter-agent_id', '/audit': '#filter-action', '/events': '[name="stream"]' },
    '/deliveries': '#filter-event',
  };
  for (const [path, field] of Object.entries(fields))
    await onPage(path, async (page) => {
      await page.waitForSelector(`main ${field}`, { state: 'attached' });
      await page.keyboard.press('/');
      assert.is(await page.evaluate(`document.activeElement.matches('${field}')`), true, path);
      assert.ok(await page.isVisible(`main ${field}`));
      if (await page.evaluate(`document.activeElement.matches('select')`)) return;
      await page.keyboard.press('/');
      assert.is(await page.inputValue(`main ${field}`), '/', 'in a field, a key is typed');
    });
});

browserTest('`j` and `k` move through the rows of each list, also of lists whose rows are not links', async () => {
  const lists = ['/agents', '/deliveries', '/integrations', '/sessions', '/access', '/members', '/audit', '/events', '/api-keys'];
  const rows = `[...document.querySelectorAll('main :is(table.list tbody tr, ol.history > li[data-id])')]`;
  const rowNow = `${rows}.findIndex((row) => row.contains(document.activeElement))`;
  for (const path of lists)
    await onPage(path, async (page) => {
      const last = ((await page.evaluate(`${rows}.length`)) as number) - 1;
      assert.ok(last >= 0, `${path} has rows`);
      await page.keyboard.press('j');
      assert.is(await page.evaluate(rowNow), 0, path);
      await page.keyboard.press('j');
      assert.is(await page.evaluate(rowNow), Math.min(1, last), path);
      await page.keyboard.press('k');
      assert.is(await page.evaluate(rowNow), 0, path);
    });
  await onPage('/audit', async (page) => {
    await pressAll(page, 'j Enter');
    assert.ok(await page.evaluate(`document.activeElement.parentElement.open`), 'Enter opens an entry of the audit log');
  });
});

browserTest('in the month calendar, arrow keys move from day to day, and Enter opens the day', async () => {
  const { p } = given!;
  await onPage('/schedules?view=month&date=2026-12-01', async (page) => {
    await page.focus('[data-day="2026-12-09"]');
    const days: unknown[] = [];
    for (const key of ['ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowUp', 'ArrowUp', 'ArrowUp']) {
      await page.keyboard.press(key);
      days.push(await page.evaluate(`document.activeElement.dataset.day.slice(-2)`));
    }
    assert.equal(days, ['10', '17', '16', '09', '02', '02']);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**${p.base}/schedules?view=day&date=2026-12-02`);
  });
});

browserTest('`[` goes one event back from a page of the present, `]` one event forward, and `n` to the present', async () => {
  const { p, seeded } = given!;
  const path = `${p.base}/agents/${seeded.agent}`;
  await onPage(path, async (page) => {
    await page.keyboard.press('[');
    await page.waitForURL(/as_of=/);
    const newest = page.url();
    await page.keyboard.press('[');
    await page.waitForURL((url) => url.href !== newest);
    await page.keyboard.press(']');
    await page.waitForURL(newest);
    await page.keyboard.press('n');
    await page.waitForURL(`**${path}`);
  });
});

browserTest('while a dialog is open, keys do nothing outside of it', async () => {
  const { p, seeded } = given!;
  await onPage(`/agents/${seeded.agent}/settings`, async (page) => {
    const before = page.url();
    await page.locator('main button[popovertarget]').first().click();
    await pressAll(page, 'g d [ j n');
    await page.waitForTimeout(300);
    assert.is(page.url(), before);
    assert.ok(await page.isVisible('dialog.confirm:popover-open'));
    await page.keyboard.press('Escape');
    await pressAll(page, 'g d');
    await page.waitForURL(`**${p.base}/deliveries`);
  });
});

browserTest('if the visitor has switched single keys off, only Ctrl+K and the button that lists the keys act', async () => {
  const { p } = given!;
  await onPage('/agents', async (page) => {
    const form = new URLSearchParams(
      (await page.evaluate(`[...new FormData(document.querySelector('button[name="keys"]').form)]`)) as [string, string][],
    );
    const saved = await p.submit('/console/preferences', { ...Object.fromEntries(form), keys: 'off' });
    assert.equal([saved.status, saved.headers.get('location')], [303, `${p.base}/agents`]);
    assert.match(saved.headers.getSetCookie()[0]!, /^annals_keys=off; Max-Age=\d+; Path=\/console; SameSite=Lax$/);
    await page.context().addCookies([{ name: 'annals_keys', value: 'off', url: 'http://annals.test/console' }]);
    await page.reload();
    assert.is(await page.innerText('button[name="keys"]'), 'Single keys: off');
    await pressAll(page, 'j ? g d');
    await page.waitForTimeout(300);
    assert.ok(page.url().endsWith('/agents'));
    assert.equal([await focused(page), await page.locator('dialog.keys').count()], ['body', 0]);
    await page.click('.who');
    await page.click('[data-hotkey="?"]');
    await page.waitForSelector('dialog.keys');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.waitForSelector('dialog.palette[open]');
  });
});

browserTest(
  'the time slider is moved by keys, says time and event, keeps the focus, and shows the page of each time without a reload',
  async () => {
    const { p, seeded } = given!;
    for (const description of ['one', 'two', 'three'])
      await p.send('PATCH', `${p.tenant}/agents/${seeded.agent}`, { body: { description: `as of ${description}` } });
    await p.waitForProjections();
    const path = `${p.base}/agents/${seeded.agent}`;
    await onPage(path, async (page) => {
      await page.evaluate('window.isSame = true');
      await page.click('#time > summary');
      await page.waitForSelector('#time input[type="range"]');
      const slider = page.locator('#time input[type="range"]');
      await slider.focus();
      await page.keyboard.press('ArrowLeft');
      await page.waitForURL(/as_of=/);
      await page.waitForSelector('.frame.past');
      assert.match(
        (await slider.getAttribute('aria-valuetext'))!,
        /^Agent updated, \d+ Nov \d{4}, \d\d:\d\d:\d\d\.\d{3} UTC$|^Agent updated, \d+ \w{3} \d{4}, /,
      );
      assert.match(await page.innerText('main'), /as of two/);
      assert.match(await page.innerText('#time'), /As of .* UTC, position \d+:\d+ · 1 event ago/);
      assert.equal([await page.evaluate('document.activeElement.type'), await page.evaluate('window.isSame')], ['range', true]);
      assert.ok(await page.isHidden('#live'));
      await page.keyboard.press('Home');
      await page.locator('main', { hasNotText: 'as of two' }).waitFor();
      assert.match((await slider.getAttribute('aria-valuetext'))!, /^Agent created, /);
      await page.keyboard.press('PageUp');
      await page.keyboard.press('End');
      await page.waitForURL(`**${path}`);
      await page.waitForSelector('.frame:not(.past)');
      assert.match(await page.innerText('main'), /as of three/);
      assert.equal([await page.evaluate('document.activeElement.type'), await page.evaluate('window.isSame')], ['range', true]);
      const from = (await page.evaluate('performance.now()')) as number;
      for (const key of ['ArrowLeft', 'ArrowLeft', 'ArrowLeft', 'ArrowRight', 'ArrowLeft']) {
        await page.keyboard.press(key);
        await page.waitForTimeout(30);
      }
      await page.waitForTimeout(500);
      const times = (await page.evaluate(
        `performance.getEntriesByType('resource').filter((one) => one.name.includes('as_of=') && one.startTime > ${from}).map((one) => one.startTime)`,
      )) as number[];
      assert.ok(times.length > 0);
      // At least 100 ms apart. A busy machine can delay the first one.
      assert.ok(times.at(-1)! - times[0]! >= 100 * (times.length - 1) - 60, `${times}`);
    });
  },
);

browserTest('a page is copied by keyboard as curl, JSON, CSV and as a link that shows the same state later', async () => {
  const { p, seeded } = given!;
  const copied: string[] = [];
  await onPage('/agents', async (page) => {
    await page.exposeFunction('noteCopied', (text: string) => void copied.push(text));
    await page.evaluate(`document.addEventListener('copy', () => noteCopied(document.activeElement.value))`);
    const next = async (): Promise<string> => {
      await page.waitForSelector('copy-menu[data-copied]');
      await page.evaluate(`delete document.querySelector('copy-menu').dataset.copied`);
      return copied.at(-1)!;
    };
    await page.keyboard.press('c');
    assert.match(await next(), /^curl 'http:\/\/annals\.test\/tenant\/\w+\/agents[^']*' \\\n {2}-H "Authorization: Bearer \$ANNALS_KEY"$/);
    await page.focus('.copy-menu > summary');
    await page.keyboard.press('Enter');
    await pressAll(page, 'Tab Enter');
    const agents = JSON.parse(await next()) as { id: string; name: string }[];
    assert.ok(agents.some(({ id }) => id === seeded.agent));
    assert.is(await page.textContent('copy-menu [role="status"]'), 'Copied');
    await pressAll(page, 'Tab Enter');
    const csv = await next();
    assert.match(csv, /^"id",.*"name"/);
    assert.is(csv.trimEnd().split('\n').length, agents.length + 1);
    await pressAll(page, 'Tab Enter');
    const link = await next();
    assert.match(link, /\/agents\?as_of=\d+%3A\d+$/);
    await p.send('PATCH', `${p.tenant}/agents/${agents[0]!.id}`, { body: { name: 'Renamed later' } });
    await p.waitForProjections();
    await page.goto(link);
    assert.match(await page.innerText('main'), new RegExp(agents[0]!.name));
    assert.not.match(await page.innerText('main'), /Renamed later/);
  });
});

afterLastTest(async () => {
  await given?.browser.close();
  await given?.p.close();
  await given?.server.close();
});

test.run();
