import { createHash } from 'node:crypto';
import type { Log, NewEvent } from '../infra/eventstore/log.ts';
import { memoryLog } from './memory-log.ts';

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
const id25 = (text: string): string => `c${digest(text).slice(0, 24)}`;

export const TENANT = id25('tenant');
export const agentOf = (index: number): string => id25(`agent ${index % 3}`);
export const deliveryOf = (index: number): string => id25(`delivery ${index}`);

export const eventIdOf = (index: number): string => {
  const hex = digest(`event ${index}`);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

const actor = { kind: 'system', id: 'webhook' } as const;

export type Body = { bytes: Uint8Array; type: string };
const jsonBody = (index: number): Body => ({
  bytes: Buffer.from(`{"n" : ${index}, "delivery_id":"not this one", "text":"${'ä'.repeat(50)}"}`),
  type: 'application/json',
});

const accepted = (index: number, at: string, { bytes, type }: Body): NewEvent => ({
  id: eventIdOf(index),
  type: 'WebhookAccepted',
  data: bytes,
  meta: {
    tenant: TENANT,
    actor,
    at,
    v: 1,
    facts: {
      integration_id: id25('integration'),
      agent_id: agentOf(index),
      provider: 'github',
      provider_delivery_id: `d-${index}`,
      event: 'push',
      content_type: type,
    },
  },
});

/** Appends accepted deliveries `from` to `to`: the same ids, positions and bytes in every process that does so from the beginning. */
export const accept = async (log: Log, from: number, to: number, at: string, bodyOf = jsonBody): Promise<void> => {
  for (let index = from; index < to; index++)
    await log.append(`delivery-${TENANT}.${deliveryOf(index)}`, 'none', [accepted(index, at, bodyOf(index))]);
};

export const acceptedLog = async (count: number, at: string) => {
  const log = memoryLog();
  await accept(log, 0, count, at);
  return log;
};
