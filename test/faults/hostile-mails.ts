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

export type HostileMailReport = { readonly codes: readonly (number | undefined)[]; readonly slowestMs: number };

/**
 * Sends messages that are slow to parse, one after the other, with `send`, which returns the SMTP code. Meanwhile,
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
    const sending = send(raw).then((code) => codes.push(code));
    for (const sent = codes.length; codes.length === sent; ) slowestMs = Math.max(slowestMs, await deliver(platform, hook));
    await sending;
  }
  return { codes, slowestMs };
};
