// Takes the pictures of the console for README.md and docs/, from a platform with invented data: `npm run pictures`. This
// is a tool for developers; test/run.ts does not run it. Run it when the console looks different.

import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { test } from 'uvu';
import { listen } from '../../infra/http/listen.ts';
import { root } from '../fixtures/child-process.ts';
import { launchChromium, openPage } from '../fixtures/chromium.ts';
import { type ConsolePlatform, createAgent, createIntegration, deliver, findDelivery, startConsole } from '../fixtures/console-platform.ts';
import { seedSession } from '../fixtures/console-sessions.ts';

const FOLDER = join(root, 'docs/pictures');
const MAX_BYTES = 200_000;
const VIEWPORT = { width: 1280, height: 800 };
const COLOURS = 96;
const HOUR_MS = 3_600_000;

const AGENTS = [
  ['Reviewer', 'Reviews pull requests and answers in the thread'],
  ['Triage', 'Sorts new issues and asks for what is missing'],
  ['Release notes', 'Writes the notes of each release from its commits'],
  ['Incident scribe', 'Keeps the timeline of an incident'],
] as const;

const TITLES = [
  'Retry webhooks with growing delays',
  'Show the trail of a delivery',
  'The export has no header row',
  'Limit the size of attachments',
  'Times are in the wrong zone',
  'Name the rule that has blocked a delivery',
] as const;

/** How many hours ago each delivery arrived: more of them in working hours. */
const AGES = Array.from({ length: 64 }, (_, index) => 23.5 - (index * 23.2) / 64 + 0.6 * Math.sin(index));

const bodyOf = (index: number) => {
  const title = TITLES[index % TITLES.length]!;
  const repository = { full_name: 'acme/console' };
  const sender = { login: ['ada', 'grace', 'linus'][index % 3] };
  if (index % 3 === 0) return { event: 'issues', body: { action: 'opened', issue: { number: 40 + index, title }, repository, sender } };
  return { event: 'pull_request', body: { action: 'opened', number: 40 + index, pull_request: { title }, repository, sender } };
};

const seedDay = async (p: ConsolePlatform): Promise<Readonly<Record<string, string>>> => {
  const startedAt = Date.now();
  p.clock.now = () => startedAt - 24 * HOUR_MS;
  await p.send('PATCH', p.tenant, { body: { name: 'Acme' } });
  const agents: string[] = [];
  for (const [name, description] of AGENTS) agents.push(await createAgent(p, name, { description }));
  const integration = await createIntegration(p, agents[0]!, 'acme/console');
  await p.send('PATCH', `${p.tenant}/webhook-integrations/${integration}`, { body: { event_filter: ['pull_request', 'issues'] } });
  for (const [index, hours] of AGES.entries()) {
    p.clock.now = () => startedAt - hours * HOUR_MS;
    const { event, body } = bodyOf(index);
    await deliver(p, integration, index % 11 === 5 ? 'push' : event, body, index % 17 === 8 ? { signature: 'sha256=forged' } : {});
  }
  p.clock.now = Date.now;
  const delivery_id = await findDelivery(p, 'accepted');
  const session = await seedSession(p, agents[0]!, { delivery_id, title: `Review: ${TITLES[0]}` });
  await p.waitForProjections();
  return {
    deliveries: `${p.base}/deliveries`,
    delivery: `${p.base}/deliveries/${delivery_id}`,
    session: `${p.base}/sessions/${session.id}`,
  };
};

const p = await startConsole();
const pages = await seedDay(p);
const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
const browser = await launchChromium(server.port);
mkdirSync(FOLDER, { recursive: true });

for (const [name, path] of Object.entries(pages))
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page } = await openPage(browser, p.cookie, { colorScheme, viewport: VIEWPORT, deviceScaleFactor: 1.5 });
    await page.goto(path);
    await page.waitForSelector('#live[data-state="live"]');
    await page.evaluate('document.fonts.ready');
    const file = join(FOLDER, `${name}-${colorScheme}.png`);
    await sharp(await page.screenshot())
      .png({ palette: true, colours: COLOURS, effort: 10 })
      .toFile(file);
    const { size } = statSync(file);
    console.log(`${file}  ${Math.ceil(size / 1_000)} kB`);
    if (size > MAX_BYTES) throw new Error(`${file} has more than ${MAX_BYTES} bytes`);
    await page.context().close();
  }

await browser.close();
await p.close();
await server.close();
// The fixtures close their database connections after the last test. There is none, so they do so now.
test.run();
