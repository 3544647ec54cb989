// limit: 300
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { browserTest } from '../fixtures/browser-test.ts';
import { chromium } from '../fixtures/chromium.ts';
import { walkPages } from '../fixtures/walk-pages.ts';
import { openHostileConsole } from './hostile-tenant.ts';

const given = chromium === undefined ? null : await openHostileConsole();

browserTest(
  'the forms about the platform or the visitor with hostile texts in every field run none of them, have no accessibility violation, and fit a window of 320 pixels',
  async () => {
    const { browser, p, forms } = given!;
    const others = forms.filter(({ url }) => !url.includes('tenant_id='));
    assert.ok(others.length > 10);
    assert.equal(await walkPages(browser, p.cookie, others), []);
  },
);

test('clean-up: the browser and the platform close', async () => {
  await given?.close();
});

test.run();
