import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sendUnsignedBodies, silentBodies, slowBodies, unfinishedBodies } from '../fixtures/unsigned-sockets.ts';
import { type Answer, createSockets, post } from './load.ts';
import { withPlatform } from './platform.ts';
import { createDataset } from './tenants.ts';

/**
 * This program sends large bodies without valid signatures to one tenant of a real platform, and large signed
 * deliveries to another tenant at the same time. It exits with 1 if a signed delivery is not accepted. Usage: `node
 * test/faults/unsigned-bodies.ts [--seconds 60] [--attack silent|unfinished|slow|all]`.
 */
const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' }, attack: { type: 'string', default: 'silent' } } });

const attacks = {
  silent: silentBodies,
  unfinished: unfinishedBodies,
  slow: slowBodies,
  all: [...silentBodies, ...unfinishedBodies, ...slowBodies],
};
if (!Object.hasOwn(attacks, values.attack)) throw new Error(`--attack must be one of ${Object.keys(attacks).join(', ')}`);
const bodies = attacks[values.attack as keyof typeof attacks];

const DELIVERIES_PER_SECOND = 2;
/** The sizes of the signed deliveries in bytes. They are used in turn. */
const SIZES = [920_000, 2_000_000, 2_000];

await withPlatform(async (platform) => {
  const { hooks } = await createDataset(platform, { tenants: 2, agents: 1, hooks: 1 });
  const [attacked, other] = [hooks[0]!, hooks[1]!];
  const sockets = createSockets();
  const attack = sendUnsignedBodies(Number(new URL(platform.url).port), attacked.path, bodies);
  await sleep(500);
  const answers: Promise<Answer>[] = [];
  for (const end = Date.now() + Number(values.seconds) * 1_000; Date.now() < end; await sleep(1_000 / DELIVERIES_PER_SECOND)) {
    const body = JSON.stringify('x'.repeat(SIZES[answers.length % SIZES.length]! - 2));
    answers.push(post(platform.url, sockets, { hook: other, deliveryId: randomUUID(), body }));
  }
  const all = await Promise.all(answers);
  const { opened, sent } = attack.close();
  sockets.destroy();
  const lost = all.filter(({ kind }) => kind !== 'accepted');
  const times = all.map(({ ms }) => ms).sort((a, b) => a - b);
  const quantile = (share: number): number => Math.round(times[Math.min(times.length - 1, Math.floor(share * times.length))]!);
  console.log(`unsigned bodies: ${opened} sockets, ${sent} bytes in ${values.seconds} s`);
  console.log(`signed deliveries of another tenant: ${all.length}, not accepted: ${lost.length}`);
  console.log(`ms until their response: p50 ${quantile(0.5)}, p99 ${quantile(0.99)}, maximum ${quantile(1)}`);
  for (const { detail } of lost.slice(0, 10)) console.log(`    ${detail}`);
  process.exitCode = lost.length === 0 ? 0 : 1;
});
