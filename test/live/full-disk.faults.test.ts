// limit: 240
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import { equal, ok } from 'uvu/assert';
import { STREAM } from '../../domain/runners/runner-credential.ts';
import { readPidFile } from '../../infra/supervision/pid-file.ts';
import { openPlatform, type Platform } from '../faults/platform.ts';
import { eventually, withTempDirectory } from '../fixtures/child-process.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';

const DISK_SIZE = '120m';
const DELIVERIES = 40;
const RECOVERY_LIMIT_MS = 30_000;

const mount = (dir: string): boolean => {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_SIZE}`, 'tmpfs', dir], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

const unmount = (dir: string): void => void execFileSync('umount', ['-l', dir]);

let mayMount = false;
await withTempDirectory(async (dir) => {
  mayMount = mount(dir);
  if (mayMount) unmount(dir);
});

/** Calls `use` with a platform whose data directory is on its own small disk. */
const withSmallDisk = (use: (platform: Platform) => Promise<void>): Promise<void> =>
  withTempDirectory(async (dir) => {
    mount(dir);
    const platform = await openPlatform(dir);
    try {
      await platform.start();
      await use(platform);
    } finally {
      await platform.close();
      unmount(dir);
    }
  });

/** Writes to a file in this directory until the disk is full. */
const fill = (dir: string): void => {
  const file = openSync(join(dir, 'fill'), 'w');
  const block = Buffer.alloc(4_096);
  try {
    for (;;) writeSync(file, block);
  } catch {
    closeSync(file);
  }
};

const makeRoom = (dir: string): void => rmSync(join(dir, 'fill'));

/** Creates an agent with an integration. @returns a function that sends a delivery and returns the response status */
const connectProvider = async ({ call, url, firstTenant }: Platform) => {
  const create = async (path: string, body: object) => JSON.parse((await call('POST', path, body)).text);
  const tenant = await firstTenant();
  const agent = await create(`/tenant/${tenant.id}/agents`, { name: 'A', slug: 'a' });
  const integration = { provider: 'github', agent_id: agent.id, label: 'L', secret: SECRET };
  const hook = await create(`/tenant/${tenant.id}/webhook-integrations`, integration);
  const body = JSON.stringify({ text: 'x'.repeat(2_000) });
  return async (id: string): Promise<number> => {
    const headers = { 'content-type': 'application/json', 'x-github-delivery': id, 'x-hub-signature-256': sign(body, SECRET) };
    return (await fetch(`${url}/hooks/inbound/${hook.id}`, { method: 'POST', headers, body })).status;
  };
};

/**
 * Returns the parts that /readyz reports as degraded. The file store is left out: it requires more free space than this
 * small disk has, so it is always degraded here.
 */
const degraded = async ({ call }: Platform): Promise<string> => {
  const { degraded: parts } = JSON.parse((await call('GET', '/readyz')).text) as { degraded: string[] };
  return parts.filter((part) => part !== 'file store').join();
};

/** Returns the number of messages in the NATS stream, or 0 if the stream does not exist. */
const messageCount = async (platform: Platform): Promise<number> => {
  const nats = await platform.connectNats();
  const { streams } = await nats.jetstreamManager();
  const info = await streams.info(STREAM).catch(() => null);
  await nats.close();
  return info?.state.messages ?? 0;
};

/**
 * Frees disk space. Waits until all messages are in the NATS stream and no part of the platform is degraded. @returns
 * the elapsed milliseconds
 */
const recover = async (platform: Platform, count: number): Promise<number> => {
  makeRoom(platform.dir);
  const startedAt = Date.now();
  await eventually(`${count} messages`, async () => (await messageCount(platform)) === count);
  await eventually('nothing is degraded', async () => (await degraded(platform)) === '');
  return Date.now() - startedAt;
};

const live = mayMount ? test : test.skip;
if (!mayMount) console.log('skipped, because mounting a file system is not allowed here: delivery after a full disk');

live('when a full disk has room again, deliveries to runners resume within 30 s, even if nats-server ended meanwhile', () =>
  withSmallDisk(async (platform) => {
    const deliver = await connectProvider(platform);
    const accept = async (name: string): Promise<void> => {
      const statuses = [];
      for (let n = 0; n < DELIVERIES; n++) statuses.push(await deliver(`${name}-${n}`));
      equal(statuses, Array(DELIVERIES).fill(202));
    };
    await accept('before');
    await eventually('the first messages', async () => (await messageCount(platform)) === DELIVERIES);

    fill(platform.dir);
    await accept('full');
    // The worker reports the state of the message delivery in Postgres. If the disk has no space for this report, the
    // last one becomes too old, and /readyz reports the worker instead.
    await eventually('the remedy, or an old report', async () =>
      /delivery to runners \(free disk space for nats-server|worker/.test(await degraded(platform)),
    );
    const simple = await recover(platform, 2 * DELIVERIES);

    fill(platform.dir);
    await accept('full again');
    process.kill(readPidFile(join(platform.data, 'run/nats.pid'))!.pid, 'SIGKILL');
    await eventually('the end of nats-server', () => /^annals: nats ended/m.test(platform.output()));
    await sleep(5_000);
    const afterEnd = await recover(platform, 3 * DELIVERIES);
    console.log(`after ${simple} ms; after the end of nats-server, ${afterEnd} ms`);
    ok(Math.max(simple, afterEnd) < RECOVERY_LIMIT_MS);
  }),
);

test.run();
