// Takes screenshots of every page of the console: in light colours, in dark colours, and 375 pixels wide. This is a
// tool for developers; node test/run.ts does not run it. It needs the running services of the tests.
// Usage: node test/console/look.ts <folder for the PNG files> [part of a page's name]

import { join } from 'node:path';
import { test } from 'uvu';
import { issueSignInLink } from '../../commands/identity/sign-in-link.ts';
import { listen } from '../../infra/http/listen.ts';
import { type OpenedProjectionAdmin, openProjectionAdmin } from '../../infra/projector/projection-admin.ts';
import { startProjections } from '../../infra/projector/projector.ts';
import { projections } from '../../projections/registry.ts';
import { launchChromium, openPage } from '../fixtures/chromium.ts';
import { seedConsole, startConsole } from '../fixtures/console-platform.ts';
import { query, silentLogger, waitUntil } from '../fixtures/live-projections.ts';
import { readModelDatabase } from '../fixtures/template-database.ts';

const [folder = '.', part = ''] = process.argv.slice(2);

const VIEWS = {
  light: { colorScheme: 'light', viewport: { width: 1440, height: 900 } },
  dark: { colorScheme: 'dark', viewport: { width: 1440, height: 900 } },
  narrow: { colorScheme: 'light', viewport: { width: 375, height: 812 } },
} as const;

const databaseUrl = await readModelDatabase();
let projectionAdmin: OpenedProjectionAdmin | undefined;
const p = await startConsole({
  createProjectionAdmin: (log) => {
    projectionAdmin = openProjectionAdmin(databaseUrl, log, silentLogger);
    return projectionAdmin;
  },
});
const worker = await startProjections({ log: p.log, databaseUrl, projections, logger: silentLogger });
const seeded = await seedConsole(p);
const external_links = ['Traces', 'Runs'].map((label) => ({ label, url: `https://${label.toLowerCase()}.example.com/{id}` }));
await p.send('PATCH', p.tenant, { body: { external_links } });
await query(databaseUrl, `update agents.agents set name = 'Spoilt' where name = 'Triage'`);
const rebuild = (await p.send('POST', '/admin/projections/agents/rebuild')).headers.get('location')!;
await waitUntil(
  'the rebuild',
  () => p.send('GET', rebuild).then(({ body }) => body as { state: string }),
  ({ state }) => state === 'ready',
);
const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
const browser = await launchChromium(server.port);
const code = await issueSignInLink(p.systemContext());

const pages: Readonly<Record<string, string>> = {
  'sign-in': '/console/sign-in?ended=1',
  link: `/console/in#${code}`,
  overview: p.base,
  deliveries: `${p.base}/deliveries`,
  'deliveries-none': `${p.base}/deliveries?outcome=dead`,
  delivery: `${p.base}/deliveries/${seeded.accepted}`,
  'delivery-rejected': `${p.base}/deliveries/${seeded.rejected}`,
  agents: `${p.base}/agents`,
  agent: `${p.base}/agents/${seeded.agent}`,
  ...Object.fromEntries(
    ['runner', 'skills', 'cost', 'history', 'settings', 'integrations', 'sessions'].map((tab) => [
      `agent-${tab}`,
      `${p.base}/agents/${seeded.agent}/${tab}`,
    ]),
  ),
  me: '/console/me',
  zone: '/console/zone',
  find: `${p.base}/find?q=re`,
  start: `${p.base}/start`,
  past: `${p.base}/agents?as_of=back`,
  'api-keys': `${p.base}/api-keys`,
  'form-agent': `/console/run/createAgent?tenant_id=${p.tenant_id}`,
  'form-cron-job': `/console/run/createCronJob?tenant_id=${p.tenant_id}&agent_id=${seeded.agent}&cron_expr=30+2+*+*+*&timezone=Europe/Berlin`,
  'form-budget': `/console/run/changeAgentBudget?tenant_id=${p.tenant_id}&agent_id=${seeded.agent}`,
  'form-session': `/console/run/startSession?tenant_id=${p.tenant_id}&agent_id=${seeded.agent}`,
  'form-rotate': `/console/run/rotateWebhookSecret?tenant_id=${p.tenant_id}&id=${seeded.integration}`,
  'form-connect': `/console/run/connectWebhookIntegration?tenant_id=${p.tenant_id}`,
  'form-invite': `/console/run/inviteMember?tenant_id=${p.tenant_id}`,
  'form-replay': `/console/run/replayTenantDeliveries?tenant_id=${p.tenant_id}&event=push&to=2126-01-01T00:00:00Z`,
  'form-blackout': `/console/run/declareCronBlackout?tenant_id=${p.tenant_id}`,
  'form-guardrails': `/console/run/replaceGuardrails?tenant_id=${p.tenant_id}`,
  'form-slack': `/console/run/changeSlackConfig?tenant_id=${p.tenant_id}&agent_id=${seeded.agent}`,
  'form-delete': `/console/run/deleteAgent?tenant_id=${p.tenant_id}&agent_id=${seeded.agent}`,
  projections: '/console/platform/projections',
  projection: '/console/platform/projections/agents',
  rebuild: `/console/platform${rebuild.slice('/admin'.length)}`,
  drift: '/console/platform/drift?sample=1',
  platform: '/console/platform',
  'platform-tenants': '/console/platform/tenants',
  'platform-tenant': `/console/platform/tenants/${p.tenant_id}`,
  'platform-users': '/console/platform/users',
  'platform-models': '/console/platform/models',
  'platform-plans': '/console/platform/plans',
  'platform-accounts': '/console/platform/allowed-accounts',
  'platform-audit': '/console/platform/audit-logs',
  unknown: `${p.base}/nowhere`,
  ...seeded.pages,
};

for (const [name, path] of Object.entries(pages).filter(([name]) => name.includes(part)))
  for (const [view, options] of Object.entries(VIEWS)) {
    const { page, faults } = await openPage(browser, ['sign-in', 'link'].includes(name) ? '' : p.cookie, options);
    await page.goto(path);
    await page.waitForTimeout(300);
    const wide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
    await page.screenshot({ path: join(folder, `${name}-${view}.png`), fullPage: view === 'narrow' });
    const said = [...faults.found, ...(wide ? ['wider than the window'] : [])];
    console.log(`${name} ${view}${said.length > 0 ? `: ${said.join(' | ')}` : ''}`);
    await page.context().close();
  }

await browser.close();
await server.close();
await worker.close();
await projectionAdmin!.close();
await p.close();
// The fixtures close their database connections after the last test. There is none, so they do so now.
test.run();
