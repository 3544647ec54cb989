// limit: 180
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, launchChromium, openPage } from '../fixtures/chromium.ts';
import { seedConsole, startConsole } from '../fixtures/console-platform.ts';
import { tabTo } from '../fixtures/keyboard.ts';
import { loadFactor } from '../fixtures/load-factor.ts';

const DESK = { viewport: { width: 1280, height: 800 } };

const stage = async () => {
  const p = await startConsole();
  const seeded = await seedConsole(p);
  await p.waitForProjections();
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  const browser = await launchChromium(server.port);
  const open = async (options: Parameters<typeof openPage>[2], cookie = p.cookie) => {
    const opened = await openPage(browser, cookie, options);
    opened.page.setDefaultTimeout(15_000 * loadFactor());
    return opened;
  };
  return { p, seeded, server, browser, open };
};
const given = chromium === undefined ? null : await stage();

browserTest('the first paint of a page already has the chosen theme, or that of the system', async () => {
  const { p, open } = given!;
  const background = `[document.documentElement, document.body].map((one) => getComputedStyle(one).backgroundColor + getComputedStyle(one).color).join()`;
  const colours: string[] = [];
  for (const [colorScheme, theme] of [
    ['light', null],
    ['dark', null],
    ['light', 'dark'],
    ['dark', 'light'],
  ] as const) {
    const { page } = await open({ ...DESK, colorScheme, javaScriptEnabled: false });
    if (theme) await page.context().addCookies([{ name: 'annals_theme', value: theme, url: 'http://annals.test/console' }]);
    await page.goto(p.base);
    colours.push(String(await page.evaluate(background)));
    await page.context().close();
  }
  const [light, dark, chosenDark, chosenLight] = colours;
  assert.is.not(light, dark);
  assert.equal([chosenDark, chosenLight], [dark, light]);
});

browserTest('after a form that failed, "Go back" opens the page from which it was sent', async () => {
  const { p, open } = given!;
  const { page } = await open(DESK);
  await page.goto(`${p.base}/agents?q=x`);
  await page.evaluate(`(() => {
    const form = Object.assign(document.createElement('form'), { method: 'post', action: '/console/preferences' });
    form.append(Object.assign(document.createElement('input'), { name: 'theme', value: 'x'.repeat(9000) }));
    document.body.append(form);
    form.submit();
  })()`);
  await page.click('a:has-text("Go back")');
  await page.waitForURL(/agents\?q=x/);
  await page.context().close();
});

/** Pages with filters, an order, tabs and a past time in their URLs. */
const statesOf = ({ p, seeded }: NonNullable<typeof given>): readonly string[] => [
  `${p.base}/deliveries?outcome=accepted`,
  `${p.base}/events?order=oldest&type=AgentCreated`,
  `${p.base}/agents/${seeded.agent}/history`,
  `${p.base}/schedules?view=month`,
  `${p.base}/agents?as_of=back`,
  `${p.base}/audit?action=agent.*`,
];

browserTest('the URL of a page contains its state: another browser shows the same content for it', async () => {
  const { p, open } = given!;
  const [one, other] = [await open(DESK), await open(DESK, await p.signIn())];
  // Only relative times can differ, and the link to the replay of all deliveries up to now.
  const comparable = (text: string) =>
    text.replaceAll(/([?&])to=[\w.%-]+/g, '$1').replaceAll(/(?:in )?\d+ (?:seconds?|minutes?)(?: ago)?|now/g, '');
  for (const path of statesOf(given!)) {
    await one.page.goto(path);
    await other.page.goto(one.page.url());
    const [first, second] = await Promise.all([one, other].map(({ page }) => page.locator('main').ariaSnapshot()));
    assert.is(comparable(first!), comparable(second!), path);
    assert.is(one.page.url(), other.page.url());
  }
  assert.equal([...one.faults.found, ...other.faults.found], []);
  for (const { page } of [one, other]) await page.context().close();
});

browserTest('with forced colours, the focus and the state of controls stay visible', async () => {
  const { p, open } = given!;
  const { page, faults } = await open({ ...DESK, forcedColors: 'active' });
  await page.goto(`${p.base}/deliveries`);
  await tabTo(page, 'nav[aria-label="Main"] a');
  const outline = `(() => { const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement); return outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1 })()`;
  assert.ok(await page.evaluate(outline), 'the focused link has an outline');
  const looks = (selector: string) =>
    page.evaluate(
      `(() => { const { borderTopColor, borderTopStyle, borderTopWidth, outlineStyle, backgroundColor } = getComputedStyle(document.querySelector(${JSON.stringify(selector)})); return [borderTopColor, borderTopStyle, borderTopWidth, outlineStyle, backgroundColor].join(' ') })()`,
    );
  assert.is.not(
    await looks('nav[aria-label="Main"] a[aria-current="page"]'),
    await looks('nav[aria-label="Main"] a:not([aria-current])'),
    'the current page is marked',
  );
  assert.is.not(await looks('.themes button[aria-pressed="true"]'), await looks('.themes button[aria-pressed="false"]'));
  assert.equal(faults.found, []);
  await page.context().close();
});

browserTest('at 200 % zoom, no page has to be scrolled sideways, and its navigation can be reached', async () => {
  const { p, seeded, open } = given!;
  // A zoom of 200 % halves the width of the window in CSS pixels.
  const { page } = await open({ viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 });
  for (const path of ['', '/deliveries', `/deliveries/${seeded.accepted}`, `/agents/${seeded.agent}`, '/access', '/schedules']) {
    await page.goto(`${p.base}${path}`);
    assert.not.ok(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), path);
    await page.click('button.menu');
    assert.ok(await page.isVisible('nav[aria-label="Main"] a'), path);
  }
  await page.context().close();
});

browserTest('on a phone, the header leads to the page above by an arrow, and has room for the title of the page', async () => {
  const { p, seeded, open } = given!;
  for (const width of [375, 320]) {
    const { page } = await open({ viewport: { width, height: 640 }, hasTouch: true });
    await page.goto(`${p.base}/agents/${seeded.agent}`);
    const [arrow, title] = await Promise.all(
      ['.breadcrumb li:nth-last-child(2) a', '.breadcrumb li:last-child'].map((one) => page.locator(one).boundingBox()),
    );
    assert.ok(arrow!.width >= 40 && arrow!.height >= 40, `${width} px: the arrow has ${arrow!.width} x ${arrow!.height} px`);
    assert.ok(title!.width >= 56, `${width} px: the title has ${title!.width} px`);
    await page.tap('.breadcrumb li:nth-last-child(2) a');
    await page.waitForURL(`**${p.base}/agents`);
    await page.context().close();
  }
});

afterLastTest(async () => {
  await given?.browser.close();
  await given?.p.close();
  await given?.server.close();
});

test.run();
