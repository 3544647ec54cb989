// limit: 300 s for this file (test/run.ts)
import { test } from 'uvu';
import { equal } from 'uvu/assert';
import { runSessionKills } from '../faults/session-kills.ts';
import { lentPlatform } from '../fixtures/running-platform.ts';

/** With the environment variable TEST_FULL_SIZE, this file is to be run without test/run.ts, because it takes many minutes. */
const SIZE = process.env.TEST_FULL_SIZE ? { sessions: 1_000, messages: 10, kills: 20 } : { sessions: 60, messages: 5, kills: 6 };
const SHOWN = 5;
const seed = Number(process.env.TEST_SEED ?? 7);
const onPlatform = lentPlatform();

test('messages of sessions have one effect each, in their order, although their runner is killed at random moments', () =>
  onPlatform(async (platform) => {
    const { findings, figures } = await runSessionKills(platform, { ...SIZE, seed });
    const first = Object.fromEntries(Object.entries(findings).map(([name, lines]) => [name, lines.slice(0, SHOWN)]));
    equal(first, { lost: [], duplicated: [], unexpected: [], outOfOrder: [] }, JSON.stringify({ first, figures, seed }, null, 2));
    equal(figures['messages that are acknowledged'], SIZE.sessions * SIZE.messages);
    console.log(JSON.stringify(figures));
  }));

test.run();
