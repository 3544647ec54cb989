// limit: 300 s for this file (test/run.ts)
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runMailKills } from '../faults/mail-kills.ts';
import { lentPlatform } from '../fixtures/running-platform.ts';

const MESSAGES = 60;
const SHOWN = 5;
const onPlatform = lentPlatform();

test('each message that got 250 while processes were killed is recorded once and reaches the runner once', () =>
  onPlatform(async (platform) => {
    const { findings, figures } = await runMailKills(platform, { port: platform.ports.smtp, messages: MESSAGES, kills: 2 });
    const first = Object.fromEntries(Object.entries(findings).map(([name, lines]) => [name, lines.slice(0, SHOWN)]));
    assert.equal(first, { lost: [], duplicated: [], unexpected: [], outOfOrder: [] }, JSON.stringify({ first, figures }, null, 2));
    assert.equal([figures['messages in the log'], figures['messages with an effect']], [MESSAGES, MESSAGES]);
    console.log(JSON.stringify(figures));
  }));

test.run();
