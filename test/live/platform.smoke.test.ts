// limit: 180
import { randomUUID } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createSockets, post } from '../faults/load.ts';
import { type Platform, sharedPlatform } from '../faults/platform.ts';
import { type Runner, startRunner } from '../faults/runners.ts';
import { createDataset, type Hook } from '../faults/tenants.ts';
import { eventually } from '../fixtures/child-process.ts';
import { signInCookie } from '../fixtures/sign-in-cookie.ts';

// This is the only file of the quick ring that starts the whole platform. It goes once through what the platform is for.

const onPlatform = sharedPlatform();
const sockets = createSockets();
const forged = `sha256=${'0'.repeat(64)}`;

type Given = { readonly hook: Hook; readonly runner: Runner };
let started: Promise<Given> | undefined;

/** Returns an integration and a running runner, which all tests of this file share. */
const given = (platform: Platform): Promise<Given> => {
  started ??= createDataset(platform, { tenants: 1, agents: 1, hooks: 1 }).then(async ({ agents, hooks }) => {
    return { hook: hooks[0]!, runner: await startRunner(platform, agents[0]!) };
  });
  return started;
};

const send = ({ url }: Platform, hook: Hook, deliveryId: string, signature?: string) =>
  post(url, sockets, { hook, deliveryId, body: JSON.stringify({ deliveryId }), ...(signature && { signature }) });

type Row = { readonly id: string; readonly outcome: string; readonly reason: string | null };

const rowsOf = async ({ call }: Platform, { id, agent }: Hook): Promise<readonly Row[]> =>
  JSON.parse((await call('GET', `/tenant/${agent.tenant.id}/webhook-integrations/${id}/deliveries`, undefined, agent.tenant)).text);

test('a runner processes each signed delivery once; a repeated one is recognised, and a forged one is refused', () =>
  onPlatform(async (platform) => {
    const { hook, runner } = await given(platform);
    const ids = Array.from({ length: 3 }, () => randomUUID());
    const first = [];
    for (const id of ids) first.push(await send(platform, hook, id));
    const repeated = await Promise.all(ids.map((id) => send(platform, hook, id)));
    assert.equal(new Set(first.map(({ detail }) => detail)), new Set(['202']));
    assert.equal(new Set(repeated.map(({ detail }) => detail)), new Set(['200']));
    assert.equal(
      repeated.map(({ id }) => id),
      first.map(({ id }) => id),
    );
    assert.match((await send(platform, hook, randomUUID(), forged)).detail, /^401 /);
    await eventually('the runner has processed every delivery', () => runner.processedIds().length >= ids.length);
    await eventually('the read model shows every delivery', async () => (await rowsOf(platform, hook)).length > ids.length);
    assert.is(runner.commandRuns().length, ids.length);
    assert.is(new Set(runner.commandRuns()).size, ids.length);
    const rows = await rowsOf(platform, hook);
    const rejected = rows.filter(({ outcome }) => outcome === 'rejected');
    assert.equal(
      rejected.map(({ reason }) => reason),
      ['signature_mismatch'],
    );
    assert.equal(new Set(rows.filter((row) => !rejected.includes(row)).map(({ id }) => id)), new Set(first.map(({ id }) => id)));
  }));

test('a visitor signs in to the console and finds the deliveries there', () =>
  onPlatform(async (platform) => {
    const { hook } = await given(platform);
    const { id: tenant, key } = hook.agent.tenant;
    const cookie = await signInCookie(platform.url, key);
    const { id } = await send(platform, hook, randomUUID());
    await eventually('the page shows the delivery', async () => {
      const page = await fetch(`${platform.url}/console/t/${tenant}/deliveries`, { headers: { cookie } });
      return page.status === 200 && (await page.text()).includes(`data-id="${id}"`);
    });
  }));

test.after(() => sockets.destroy());

test.run();
