import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { setImmediate as nextLoopTurn, setTimeout as sleep } from 'node:timers/promises';
import { readSpoolCounts } from '../../infra/spool/spool-file.ts';
import { slotPath, spoolDirectory } from '../../infra/spool/spool-slots.ts';
import { createSockets, post, type SentDelivery, sign } from './load.ts';
import type { KillablePlatform } from './running-platform.ts';
import { freeze, untilDrained, untilReadiness } from './store-outage.ts';
import type { Hook } from './tenants.ts';

const BURST = 60;
/** How many rounds may follow the wanted ones, as long as no process was killed at the wanted moment. */
const MAX_MORE_ROUNDS = 7;
/**
 * The maximum time to wait for the first commit to the spool. The commit begins after 500 ms, when the attempts to
 * record the deliveries in the event store are given up.
 */
const COMMIT_TIMEOUT_MS = 1_000;
const MAX_DELAY_MS = 4;
/**
 * How long `serve` must run after each start. If it ends within three seconds after its start, the supervisor restarts
 * it with growing delays.
 */
const STABLE_AFTER_MS = 3_500;

export type KillReport = {
  readonly sent: readonly SentDelivery[];
  readonly kills: number;
  /**
   * The number of rounds in which the process was killed at the wanted moment: the spool on disk contained unanswered
   * deliveries.
   */
  readonly roundsBetween: number;
  readonly unansweredOnDisk: number;
};

/** Waits for the beginning of a commit to the spool, and then for a random time of up to 4 ms. */
const untilCommit = async (data: string): Promise<void> => {
  const journal = `${slotPath(spoolDirectory(data), 0)}-wal`;
  const writtenAt = (): number => (existsSync(journal) ? statSync(journal).mtimeMs : 0);
  const before = writtenAt();
  for (const end = Date.now() + COMMIT_TIMEOUT_MS; writtenAt() === before && Date.now() < end; ) await nextLoopTurn();
  await sleep(Math.random() * MAX_DELAY_MS);
};

const waitingOnDisk = (data: string): number => {
  const file = slotPath(spoolDirectory(data), 0);
  return existsSync(file) ? readSpoolCounts(file).rows : 0;
};

const sendAll = async (url: string, deliveries: readonly SentDelivery[]): Promise<void> => {
  const sockets = createSockets();
  const send = async (one: SentDelivery): Promise<void> => {
    one.answers.push(await post(url, sockets, { ...one, signature: sign(one.body, one.hook.secret) }));
  };
  await Promise.all(deliveries.map(send));
  sockets.destroy();
};

const isUnknown = ({ answers }: SentDelivery): boolean => answers.at(-1)!.kind === 'unknown';

/**
 * Kills the process `serve` when it has written deliveries to the spool but has probably not answered their senders
 * (fault F5). The senders then send the deliveries again. If none of the `rounds` kills came at this moment, further
 * rounds follow.
 */
export const killAtCommit = async (platform: KillablePlatform, hooks: readonly Hook[], rounds: number): Promise<KillReport> => {
  const { url, data } = platform;
  const sent: SentDelivery[] = [];
  let roundsBetween = 0;
  let unansweredOnDisk = 0;
  let kills = 0;
  for (; kills < rounds || (roundsBetween === 0 && kills < rounds + MAX_MORE_ROUNDS); kills++) {
    const burst = Array.from({ length: BURST }, (_, index): SentDelivery => {
      const number = sent.length + index;
      return { number, hook: hooks[number % hooks.length]!, deliveryId: randomUUID(), body: JSON.stringify({ number }), answers: [] };
    });
    sent.push(...burst);
    const thaw = freeze(platform, 'store');
    const sending = sendAll(url, burst);
    await untilCommit(data);
    const killed = platform.kill('serve');
    await sending;
    const onDisk = waitingOnDisk(data) - burst.filter((one) => !isUnknown(one)).length;
    if (onDisk > 0) roundsBetween++;
    unansweredOnDisk += Math.max(0, onDisk);
    thaw();
    await killed;
    await untilReadiness(platform, 200);
    const stable = sleep(STABLE_AFTER_MS);
    for (let open = burst.filter(isUnknown); open.length > 0; open = open.filter(isUnknown)) await sendAll(url, open);
    await untilDrained(platform);
    await stable;
  }
  return { sent, kills, roundsBetween, unansweredOnDisk };
};
