// limit: 180
import { gzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConsoleAssets } from '../../infra/http/console-assets.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createCronJob, createIntegration, deliver, startConsole } from '../fixtures/console-platform.ts';
import { createRunner } from '../fixtures/console-sessions.ts';
import { addMember } from '../fixtures/users.ts';

/** The size of a list on which a budget is based. */
const ROWS = 50;
/** The budgets in bytes, as gzip sends them. Fonts are sent as they are. */
const MAX_PAGE = 14_000;
const MAX_STYLES = 12_000;
const MAX_SCRIPTS = 34_000;
const MAX_FONTS = 53_000;

const p = await startConsole();
const agent = await createAgent(p, 'Reviewer', { description: 'Reviews pull requests and answers in the thread' });
const integration = await createIntegration(p, agent);
const runner = await createRunner(p, agent);
const AREAS = ['console', 'billing', 'webhooks', 'relay', 'projector', 'schedule', 'vault'];
for (let index = 0; index < ROWS + 2; index++) {
  const area = AREAS[index % AREAS.length]!;
  await createAgent(p, `Reviewer of ${area} ${index}`, { description: `Reads pull requests of annals/${area} and answers in the thread` });
  await createIntegration(p, agent, `annals/${area}-${index}`);
  await createCronJob(p, agent, { name: `Report on ${area} ${index}`, cron_expr: `${index} 9 * * MON` });
  await addMember(p, 'MEMBER', p.tenant_id, `person.${index}@${area}.example.com`);
  await p.send('POST', `${p.tenant}/api-keys`, { body: { name: `Deployment of ${area} ${index}` } });
  await p.send('POST', `${p.tenant}/agents/${agent}/sessions`, {
    key: runner,
    body: { title: `Review of pull request ${index}: ${area}` },
  });
  await p.send('POST', '/admin/tenants', {
    body: { name: `Team ${area} ${index}`, slug: `${area}-${index}`, owner_email: `owner.${index}@example.com` },
  });
  const payload = { ref: `refs/heads/${area}-${index}`, repository: { full_name: `annals/${area}` }, pusher: { name: `person.${index}` } };
  await deliver(p, integration, index % 3 === 0 ? 'pull_request_review_comment' : 'push', payload);
}
await p.waitForProjections();

/** The lists of the console, with the kind of their rows, and the number of rows on a page. */
const LISTS: readonly (readonly [path: string, kind: string, rows?: number])[] = [
  [`${p.base}/deliveries`, 'delivery'],
  [`${p.base}/agents`, 'agent'],
  [`${p.base}/integrations`, 'integration'],
  [`${p.base}/sessions`, 'session', 20],
  [`${p.base}/members`, 'member'],
  [`${p.base}/api-keys`, 'apikey'],
  [`${p.base}/audit`, 'audit'],
  [`${p.base}/events`, 'event'],
  ['/console/platform/tenants', 'tenant'],
  ['/console/platform/users', 'user'],
];

test('the HTML of each list with a full page of rows is within its budget as gzip', async () => {
  const sizes: string[] = [];
  const wrong: string[] = [];
  for (const [path, kind, expected = ROWS] of LISTS) {
    const { status, text } = await p.open(path);
    assert.is(status, 200, path);
    const rows = text.match(new RegExp(`data-kind="${kind}"`, 'g'))?.length ?? 0;
    const size = gzipSync(text).length;
    sizes.push(`${path.split('/').at(-1)} ${rows} rows ${size}`);
    if (rows < expected) wrong.push(`${path} has ${rows} rows`);
    if (size > MAX_PAGE) wrong.push(`${path} has ${size} bytes`);
  }
  console.log(sizes.join(', '));
  assert.equal(wrong, []);
});

test('the styles, scripts and fonts of the console are within their budgets', async () => {
  const { base, find } = await loadConsoleAssets();
  const { text } = await p.open(`${p.base}/deliveries`);
  const names = [...text.matchAll(/(?:src|href)="\/console\/assets\/[^/]+\/([^"#]+)"/g)].map((found) => found[1]!);
  const imported = (name: string): string[] => {
    const { bytes } = find(`${base}/${name}`)!;
    return [
      ...Buffer.from(bytes)
        .toString()
        .matchAll(/from '\.\/([\w-]+\.mjs)'/g),
    ].map((found) => found[1]!);
  };
  const scripts = names.filter((name) => /\.m?js$/.test(name));
  const all = new Set([...scripts, ...scripts.flatMap(imported)]);
  const sizeOf = (name: string): number => {
    const asset = find(`${base}/${name}`);
    assert.ok(asset, name);
    return (asset.gzip ?? asset.bytes).length;
  };
  const sum = (some: Iterable<string>): number => [...some].reduce((total, name) => total + sizeOf(name), 0);
  const [styles, code, fonts] = [sum(['console.css']), sum(all), sum(['geist.woff2', 'geist-mono.woff2'])];
  console.log(`styles ${styles}, scripts ${code} in ${all.size} files, fonts ${fonts}`);
  assert.ok(styles <= MAX_STYLES, `${styles} bytes of styles`);
  assert.ok(code <= MAX_SCRIPTS, `${code} bytes of scripts`);
  assert.ok(fonts <= MAX_FONTS, `${fonts} bytes of fonts`);
});

afterLastTest(() => p.close());

test.run();
