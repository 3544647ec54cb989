// limit: 600; takes a share
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, openPage } from '../fixtures/chromium.ts';
import { isWholeWalk, layOutPages, walkPages } from '../fixtures/walk-pages.ts';
import { openHostileConsole } from './hostile-tenant.ts';
import { oneOfEachKind, type Walked } from './page-kinds.ts';
import type { PageUrl } from './page-urls.ts';

type Console = Awaited<ReturnType<typeof openHostileConsole>>;

const render = async ({ p }: Console, page: PageUrl): Promise<Walked> => {
  let answer = await p.open(page.url);
  while (answer.status === 303) answer = await p.open(answer.headers.get('location')!);
  return { ...page, html: answer.text };
};

const stage = async () => {
  const opened = await openHostileConsole();
  const all: Walked[] = [];
  for (const page of [...opened.pages, ...opened.states, ...opened.forms]) all.push(await render(opened, page));
  return { ...opened, all, kinds: oneOfEachKind(all) };
};
const given = chromium === undefined ? null : await stage();

const isForm = ({ url }: PageUrl): boolean => url.startsWith('/console/run/');

/** What the browser opens, each with the minimum number of pages and with a function that selects them. */
const WALKS: Readonly<Record<string, readonly [min: number, isSelected: (page: PageUrl) => boolean]>> = {
  'the pages of a tenant': [20, ({ url }) => url.startsWith(given!.p.base)],
  'the pages of the platform and of the visitor': [8, (page) => !isForm(page) && !page.url.startsWith(given!.p.base)],
  forms: [15, isForm],
};

for (const [name, [min, isSelected]] of Object.entries(WALKS))
  browserTest(`one of each kind of ${name} runs no hostile text, is accessible, and fits a window of 320 pixels`, async () => {
    const { browser, p, kinds } = given!;
    const selected = kinds.filter(isSelected);
    assert.ok(selected.length > min, `${selected.length} pages`);
    assert.equal(await walkPages(browser, p.cookie, selected), []);
  });

browserTest('with hostile texts in every field, the contents of every page and form fit a window of 320 pixels', async () => {
  const { browser, all, kinds } = given!;
  assert.ok(all.length > 150 && kinds.length < all.length, `${kinds.length} of ${all.length}`);
  const others = all.filter((page) => !kinds.includes(page));
  assert.equal(await layOutPages(browser, isWholeWalk ? others : others.slice(0, 10)), []);
});

browserTest('the pages for signing in have no accessibility violation, and fit a window of 320 pixels', async () => {
  const hostile = encodeURIComponent('/console/"><img src=x onerror=alert(1)>');
  const pages = ['/console/sign-in', `/console/sign-in?ended=1&return_to=${hostile}`, '/console/in#code'];
  const signIns = pages.map((url) => ({ name: url, url }));
  assert.equal(await walkPages(given!.browser, '', signIns), []);
});

browserTest('the fixture reports dialogs, inline scripts that the policy blocks, and requests to other hosts', async () => {
  const { page, faults } = await openPage(given!.browser, '');
  await page.goto('/console/sign-in');
  await page.evaluate(`document.body.append(Object.assign(document.createElement('script'), { textContent: 'alert(1)' }))`);
  await page.evaluate(`fetch('https://elsewhere.example/').catch(() => {})`);
  await page.evaluate(`alert('hello')`);
  await page.waitForTimeout(200);
  for (const part of ['content security policy: script-src', 'content security policy: connect-src', 'dialog: hello'])
    assert.ok(
      faults.found.some((fault) => fault.includes(part)),
      `${part} in ${faults.found.join(' | ')}`,
    );
  await page.context().close();
});

browserTest('the fixture reports contents that are wider than the window, and handlers of events in them', async () => {
  const html = `<body><p>${'W'.repeat(400)}</p><img alt="" src="data:," onerror="alert(1)"></body>`;
  const found = (await layOutPages(given!.browser, [{ name: 'wide', html }])).join(' | ');
  for (const part of ['wide: wider than 320 px', 'wide: console: content security policy: script-src-attr'])
    assert.ok(found.includes(part), `${part} in ${found}`);
});

afterLastTest(async () => {
  await given?.close();
});

test.run();
