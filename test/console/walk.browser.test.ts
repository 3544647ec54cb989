// limit: 600
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium, openPage } from '../fixtures/chromium.ts';
import { walkPages } from '../fixtures/walk-pages.ts';
import { openHostileConsole } from './hostile-tenant.ts';
import type { PageUrl } from './page-urls.ts';

const given = chromium === undefined ? null : await openHostileConsole();

type Console = NonNullable<typeof given>;

const ofTenant = ({ url }: PageUrl): boolean => url.startsWith(given!.p.base);
const pagesIn = ({ pages, states }: Console): readonly PageUrl[] => [...pages, ...states];

/** What the browser opens, each with the minimum number of pages and with a function that selects them. */
const WALKS: Readonly<Record<string, readonly [min: number, select: (console: Console) => readonly PageUrl[]]>> = {
  'the pages of a tenant': [30, (console) => pagesIn(console).filter(ofTenant)],
  'the pages of the platform': [14, (console) => pagesIn(console).filter((page) => !ofTenant(page))],
  'the forms about an agent': [30, ({ forms }) => forms.filter(({ url }) => url.includes('agent_id='))],
  'the other forms about a tenant': [20, ({ forms }) => forms.filter(({ url }) => /^(?!.*agent_id=).*tenant_id=/.test(url))],
  'the forms about the platform or the visitor': [10, ({ forms }) => forms.filter(({ url }) => !url.includes('tenant_id='))],
};

for (const [name, [min, select]] of Object.entries(WALKS))
  browserTest(
    `${name}, with hostile texts in every field, run none of them, have no accessibility violation, and fit a window of 320 pixels`,
    async () => {
      const { browser, p } = given!;
      const selected = select(given!);
      assert.ok(selected.length > min);
      assert.equal(await walkPages(browser, p.cookie, selected), []);
    },
  );

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

afterLastTest(async () => {
  await given?.close();
});

test.run();
