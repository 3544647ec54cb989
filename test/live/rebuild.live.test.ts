// limit: 240
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { observe } from '../faults/final-state.ts';
import { startLoad } from '../faults/load.ts';
import { type Platform, withPlatform } from '../faults/platform.ts';
import { allAnswers, quietLog } from '../faults/read-models.ts';
import { startRunner } from '../faults/runners.ts';
import { makeEstate } from '../faults/tenants.ts';

/** Less than the time after which a process is killed: every process must end by itself. */
const MAX_STOP_MS = 12_000;

/** Drops the database while the platform uses it. */
const dropDatabase = async ({ data, urls }: Platform): Promise<void> => {
  const url = new URL(urls().DATABASE_URL);
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

/** The path, and both responses around the first difference. */
const difference = (path: string, one: string, other: string): string => {
  const at = [...one].findIndex((character, index) => character !== other[index]);
  const [from, to] = [Math.max(0, at - 60), at + 60];
  return `${path}: ${one.slice(from, to)} | ${other.slice(from, to)}`;
};

test('after the database was dropped, the next start serves the same responses, byte for byte', () =>
  withPlatform(async (platform) => {
    const estate = await makeEstate(platform, { tenants: 2, agents: 2, hooks: 1 });
    const runners = await Promise.all(estate.agents.map((agent) => startRunner(platform, agent)));
    const load = startLoad({ bases: [platform.url], hooks: estate.hooks, perSecond: 60, duplicates: 0.1, most: 120 });
    await load.pacing;
    await load.finish();
    await observe(platform, load.sent, estate.hooks, runners);
    await Promise.all(runners.map(({ stop }) => stop()));

    // The first round of requests records the use of the keys in the log.
    await allAnswers(platform, estate, await quietLog(platform));
    const token = await quietLog(platform);
    const before = await allAnswers(platform, estate, token);
    await dropDatabase(platform);
    const stoppedAt = Date.now();
    assert.is(await platform.stop(), 0);
    assert.ok(Date.now() - stoppedAt < MAX_STOP_MS, `stopping took ${Date.now() - stoppedAt} ms`);
    assert.equal(await platform.sweep(), [], 'processes that were left');
    await platform.start();
    const after = await allAnswers(platform, estate, token);

    assert.ok(before.size > 120 + 20, `${before.size} answers`);
    const good = [...before.values()].filter((text) => text.startsWith('200'));
    assert.ok(good.length > 120 + 20, `${good.length} answers with 200`);
    assert.is(after.size, before.size);
    const differences = [...before].flatMap(([path, text]) =>
      after.get(path) === text ? [] : [difference(path, text, after.get(path) ?? '')],
    );
    assert.equal(differences.slice(0, 5), []);
    assert.is(await quietLog(platform), token, 'reading wrote nothing to the log');
  }));

test.run();
