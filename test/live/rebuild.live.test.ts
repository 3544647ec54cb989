// limit: 240 s for this file (test/run.ts)
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startClientRunner } from '../faults/client-runner.ts';
import { readFinalState } from '../faults/final-state.ts';
import { startLoad } from '../faults/load.ts';
import { type Platform, withPlatform } from '../faults/platform.ts';
import { readAllResponses, waitForIdleLog } from '../faults/read-models.ts';
import { createDataset } from '../faults/tenants.ts';

/**
 * The maximum duration of a stop. The supervisor kills a process after a longer time, so the test fails if a process
 * does not end by itself.
 */
const MAX_STOP_MS = 12_000;

/** A few deliveries of each integration are enough: each adds a request per path that names a delivery. */
const DELIVERIES = 20;
/** The minimum number of responses in addition to one for each delivery. */
const OTHER_RESPONSES = 20;

/** Drops the platform's database while the platform uses it. */
const dropDatabase = async ({ data, serviceVariables }: Platform): Promise<void> => {
  const url = new URL(serviceVariables().DATABASE_URL);
  const name = url.pathname.slice(1);
  Object.assign(url, {
    username: 'postgres',
    password: readFileSync(join(data, 'postgres', 'password'), 'utf8').trim(),
    pathname: '/postgres',
  });
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  await client.query(`drop database ${name} with (force)`).finally(() => client.end());
};

/**
 * Describes the first difference between two responses: the path of the request, and what both texts have around the
 * difference.
 */
const difference = (path: string, one: string, other: string): string => {
  const at = [...one].findIndex((character, index) => character !== other[index]);
  const [from, to] = [Math.max(0, at - 60), at + 60];
  return `${path}: ${one.slice(from, to)} | ${other.slice(from, to)}`;
};

test('after the database was dropped, the platform restarts and its responses are byte for byte the same as before', () =>
  withPlatform(async (platform) => {
    const dataset = await createDataset(platform, { tenants: 2, agents: 1, hooks: 2 });
    const runners = await Promise.all(dataset.agents.map((agent) => startClientRunner(platform, agent)));
    const load = startLoad({ bases: [platform.url], hooks: dataset.hooks, perSecond: 40, duplicateRatio: 0.1, maxDeliveries: DELIVERIES });
    await load.allSent;
    await load.finish();
    await readFinalState(platform, load.sent, dataset.hooks, runners);
    await Promise.all(runners.map(({ stop }) => stop()));

    // The first round of requests appends events about the use of the API keys. The later rounds append nothing, so
    // that their responses can be compared.
    await readAllResponses(platform, dataset, await waitForIdleLog(platform));
    const token = await waitForIdleLog(platform);
    const before = await readAllResponses(platform, dataset, token);
    const addresses = platform.serviceVariables();
    await dropDatabase(platform);
    const stoppedAt = Date.now();
    assert.is(await platform.stop(), 0);
    assert.ok(Date.now() - stoppedAt < MAX_STOP_MS, `stopping took ${Date.now() - stoppedAt} ms`);
    assert.equal(await platform.endRemainingProcesses(), [], 'no process is left');
    await platform.start();
    assert.not.match(platform.output(), 'ANNALS_ADMIN_KEY', 'the key of the first start still works');
    assert.equal(platform.serviceVariables(), addresses, 'every service keeps its port');
    const after = await readAllResponses(platform, dataset, token);

    assert.ok(before.size > DELIVERIES + OTHER_RESPONSES, `${before.size} responses`);
    const good = [...before.values()].filter((text) => text.startsWith('200'));
    assert.ok(good.length > DELIVERIES + OTHER_RESPONSES, `${good.length} responses with 200`);
    assert.is(after.size, before.size);
    const differences = [...before].flatMap(([path, text]) =>
      after.get(path) === text ? [] : [difference(path, text, after.get(path) ?? '')],
    );
    assert.equal(differences.slice(0, 5), []);
    assert.is(await waitForIdleLog(platform), token, 'reading wrote nothing to the log');
  }));

test.run();
