import { closeSync, existsSync, globSync, openSync, readFileSync, readSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readPidFile } from '../../infra/supervision/pid-file.ts';
import { eventually } from '../fixtures/child-process.ts';
import type { Findings } from './checker.ts';
import { startLoad } from './load.ts';
import { begin, type Deployment, judge, type OutageOptions, type OutageReport, untilProcessed } from './outage-trial.ts';
import type { KillablePlatform } from './running-platform.ts';
import { freeze, killAgainAndAgain } from './store-outage.ts';

/** The ways in which the broker fails: it is down, it does not answer, or it is killed every five seconds. */
export const BROKER_OUTAGES = ['stopped', 'frozen', 'restarted'] as const;
export type BrokerOutage = (typeof BROKER_OUTAGES)[number];

/**
 * The ways in which the broker's files are damaged: all are removed, or one bit of each file of messages is flipped.
 */
export const BROKER_DAMAGES = ['removed', 'flipped'] as const;
export type BrokerDamage = (typeof BROKER_DAMAGES)[number];

const RESTART_INTERVAL_MS = 5_000;
const WARM_UP_MS = 2_000;
const KIB_PER_MIB = 1_024;

/**
 * Returns the resident memory in MiB of the process `work` and all its descendants, or null on systems without /proc.
 */
const workerMemory = ({ data }: KillablePlatform): number | null => {
  const root = readPidFile(join(data, 'run', 'work.pid'))?.pid;
  if (root === undefined || !existsSync('/proc/self/stat')) return null;
  const parents = new Map(
    globSync('/proc/[0-9]*/stat').flatMap((file): [number, number][] => {
      const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
      const parent = /\) \S (\d+) /.exec(text)?.[1];
      return parent ? [[Number.parseInt(text, 10), Number(parent)]] : [];
    }),
  );
  const isOfWorkers = (pid: number): boolean => pid === root || (parents.has(pid) && isOfWorkers(parents.get(pid)!));
  const memoryOf = (pid: number): number => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  return Math.round([...parents.keys()].filter(isOfWorkers).reduce((sum, pid) => sum + memoryOf(pid), 0) / KIB_PER_MIB);
};

/** Makes the broker fail, and counts in `kills` how often it is killed. @returns a function that ends the outage */
const breakBroker = (platform: KillablePlatform, kind: BrokerOutage, kills: { count: number }): (() => void) => {
  if (kind === 'frozen') return freeze(platform, 'nats');
  if (kind === 'stopped') {
    kills.count++;
    return killAgainAndAgain(platform, 'nats');
  }
  const kill = (): void => {
    kills.count++;
    void platform.kill('nats').catch(() => {});
  };
  kill();
  const timer = setInterval(kill, RESTART_INTERVAL_MS);
  return () => clearInterval(timer);
};

/**
 * Makes the broker fail for some time, under load (fault F12). Senders must not notice it. Afterwards, every delivery
 * must reach its runner.
 */
export const runBrokerOutage = async (deployment: Deployment, kind: BrokerOutage, options: OutageOptions): Promise<OutageReport> => {
  const { platform } = deployment;
  const { onProgress = () => {} } = options;
  const load = begin(deployment, options);
  await sleep(WARM_UP_MS);
  const memoryBefore = workerMemory(platform);
  const kills = { count: 0 };
  const before = load.sent.length;
  const endOutage = breakBroker(platform, kind, kills);
  onProgress(`the broker is ${kind} for ${options.seconds} s`);
  await sleep(options.seconds * 1_000);
  const memoryAfter = workerMemory(platform);
  const during = load.sent.length - before;
  endOutage();
  const deliveredMs = await untilProcessed(deployment, load.sent.length);
  await load.finish();
  const { findings, figures } = await judge(deployment, load.sent, { brokerKills: kills.count, runnerKills: 0 });
  return {
    findings,
    figures: {
      'sent during the outage': during,
      'kills of the broker': kills.count,
      'delivered after, ms': deliveredMs,
      ...(memoryBefore !== null && memoryAfter !== null
        ? { 'memory of the workers before, MiB': memoryBefore, 'memory of the workers after, MiB': memoryAfter }
        : {}),
      ...figures,
    },
  };
};

/** Flips one bit in the middle of a file. */
const flipBit = (file: string): void => {
  const at = Math.floor(statSync(file).size / 2);
  const handle = openSync(file, 'r+');
  const byte = Buffer.alloc(1);
  readSync(handle, byte, 0, 1, at);
  byte[0]! ^= 0b100;
  writeSync(handle, byte, 0, 1, at);
  closeSync(handle);
};

/** Damages the files of the broker while it is frozen, and then kills it. @returns the number of damaged files */
const damageBroker = async (platform: KillablePlatform, damage: BrokerDamage): Promise<number> => {
  const directory = join(platform.data, 'nats', 'jetstream');
  // Freeze the server instead of stopping it: it then writes nothing, and the supervisor does not start another one
  // before this one is killed.
  freeze(platform, 'nats');
  const blocks = globSync(join(directory, '**', '*.blk')).filter((file) => statSync(file).size > 0);
  if (damage === 'removed') rmSync(directory, { recursive: true });
  else for (const block of blocks) flipBit(block);
  await platform.kill('nats');
  return blocks.length;
};

/**
 * Removes the findings about the broker's stream and about the order at the runners. These are expected, because the
 * damaged broker has lost messages that it had confirmed.
 */
const withoutStream = (findings: Findings): Findings => {
  const keep = (lines: readonly string[]): string[] => lines.filter((line) => !/in the stream$|reached the runner/.test(line));
  return {
    lost: keep(findings.lost),
    duplicated: keep(findings.duplicated),
    unexpected: keep(findings.unexpected),
    outOfOrder: keep(findings.outOfOrder),
  };
};

/**
 * Removes or damages the broker's files while the broker holds deliveries that no runner has processed (fault F13). All
 * these deliveries must still reach their runners.
 */
export const runBrokerDamage = async (deployment: Deployment, damage: BrokerDamage, count: number): Promise<OutageReport> => {
  const { platform, hooks, runners } = deployment;
  const send = async (maxDeliveries: number) => {
    const load = startLoad({ bases: [platform.url], hooks, perSecond: 50, duplicateRatio: 0.1, maxDeliveries });
    await load.allSent;
    await load.finish();
    return load.sent;
  };
  const nats = await platform.connectNats();
  const { streams } = await nats.jetstreamManager();
  const stored = async (): Promise<number> => (await streams.info('AGENTS')).state.messages;
  const before = await stored();
  const processed = await send(count);
  await untilProcessed(deployment, count);
  await Promise.all(runners.map((runner) => runner.stop()));
  const waiting = await send(count);
  await eventually('the broker has all messages', async () => (await stored()) >= before + 2 * count);
  await nats.close();
  const files = await damageBroker(platform, damage);
  await Promise.all(runners.map((runner) => runner.start()));
  const deliveredMs = await untilProcessed(deployment, 2 * count);
  const { findings, figures } = await judge(deployment, [...processed, ...waiting], { brokerKills: 1, runnerKills: 0 });
  return {
    findings: withoutStream(findings),
    figures: { 'files damaged': files, 'waiting at the broker': count, 'delivered after, ms': deliveredMs, ...figures },
  };
};
