import { randomUUID } from 'node:crypto';
import { HOSTILE_MAILS } from '../fixtures/hostile-mails.ts';
import { sign } from './load.ts';
import type { RunningPlatform } from './running-platform.ts';
import { createDataset, type Hook } from './tenants.ts';

const MESSAGES = ['4 MB of empty lines', '100,000 parts', '30 MB of short lines of HTML'];

/** Posts one delivery. @returns the milliseconds until it was accepted */
const deliver = async ({ url }: RunningPlatform, { path, secret }: Hook): Promise<number> => {
  const body = JSON.stringify({ id: randomUUID() });
  const headers = {
    ...{ 'content-type': 'application/json', 'x-github-event': 'push' },
    ...{ 'x-github-delivery': randomUUID(), 'x-hub-signature-256': sign(body, secret) },
  };
  const startedAt = performance.now();
  const { status } = await fetch(url + path, { method: 'POST', headers, body });
  if (status !== 202) throw new Error(`a delivery got ${status}`);
  return performance.now() - startedAt;
};

/** The number of times that each message is sent, because another program may delay one delivery, but not all. */
const REPEATS = 3;

/** Sends deliveries until the message has been answered. @returns the milliseconds of the slowest one */
const slowestBeside = async (platform: RunningPlatform, hook: Hook, sending: Promise<unknown>): Promise<number> => {
  let isAnswered = false;
  let slowestMs = 0;
  void sending.finally(() => (isAnswered = true)).catch(() => {});
  while (!isAnswered) slowestMs = Math.max(slowestMs, await deliver(platform, hook));
  return slowestMs;
};

/** `slowestMs` is the slowest delivery beside any message, in the best of its repeats. */
export type HostileMailReport = { readonly codes: readonly (number | undefined)[]; readonly slowestMs: number };

/**
 * Sends messages that are slow to parse, one after the other and each three times, with `send`, which returns the SMTP code. Meanwhile,
 * another tenant gets signed deliveries.
 */
export const runHostileMails = async (
  platform: RunningPlatform,
  send: (raw: Buffer) => Promise<number | undefined>,
): Promise<HostileMailReport> => {
  const [hook] = (await createDataset(platform, { tenants: 1, agents: 1, hooks: 1 })).hooks as [Hook];
  await send(Buffer.from('Subject: first\r\n\r\ntext'));
  await deliver(platform, hook);
  const codes: (number | undefined)[] = [];
  let slowestMs = 0;
  for (const message of MESSAGES) {
    const raw = Buffer.from(HOSTILE_MAILS.find(({ name }) => name === message)!.build());
    const slowest: number[] = [];
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      const sending = send(raw);
      slowest.push(await slowestBeside(platform, hook, sending));
      if (repeat === 0) codes.push(await sending);
    }
    slowestMs = Math.max(slowestMs, Math.min(...slowest));
  }
  return { codes, slowestMs };
};
