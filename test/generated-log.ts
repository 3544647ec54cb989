import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { Position, Recorded } from '../domain/event.ts';
import type { Follower, Log, Subscription } from '../infra/eventstore/log.ts';

const id25 = (text: string): string => `c${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;

export const TENANT = id25('tenant');
export const agentOf = (index: number): string => id25(`agent ${index % 3}`);

const uuidOf = (index: number): string => {
  const hex = createHash('sha256').update(`event ${index}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/** The position of an event; as in a real log not its number. */
const positionOf = (index: number): Position => ({ commit: BigInt(700 + index * 100), prepare: BigInt(700 + index * 100) });
const indexOf = ({ commit }: Position): number => Number(commit - 700n) / 100;

export const eventIdOf = uuidOf;

/** A log of accepted deliveries that is the same in every process that makes it; others are mixed in by `also`. */
export const generatedLog = (count: number, at = '2026-01-01T00:00:00.000Z', also: Readonly<Record<number, Partial<Recorded>>> = {}) => {
  let length = count;
  const woken = new Set<() => void>();

  const eventOf = (index: number): Recorded => {
    const delivery = id25(`delivery ${index}`);
    const facts = {
      integration_id: id25('integration'),
      agent_id: agentOf(index),
      provider: 'github',
      provider_delivery_id: `d-${index}`,
      event: 'push',
      content_type: 'application/json',
    };
    const event: Recorded = {
      type: 'WebhookAccepted',
      data: Buffer.from(`{"n":${index},"delivery_id":"not this one","text":"${'ä'.repeat(100)}"}`),
      event_id: uuidOf(index),
      stream: `delivery-${TENANT}.${delivery}`,
      category: 'delivery',
      tenant: TENANT,
      id: delivery,
      revision: 0,
      position: positionOf(index),
      at,
      actor: { kind: 'system', id: 'webhook' },
      meta: { tenant: TENANT, actor: { kind: 'system', id: 'webhook' }, at, v: 1, facts },
    };
    return { ...event, ...also[index] };
  };

  const follow = ({ from, filter, event, caughtUp }: Follower): Subscription => {
    let stopped = false;
    let next = from === 'end' ? length : from ? indexOf(from) + 1 : 0;
    let position: Position | undefined;
    const run = async (): Promise<Error | null> => {
      while (!stopped) {
        for (; next < length && !stopped; next++) {
          if (next % 256 === 0) await turn();
          const one = eventOf(next);
          if (filter && 'eventTypes' in filter && !filter.eventTypes.includes(one.type)) continue;
          try {
            const work = event(one);
            if (work) await work;
          } catch (error) {
            return error as Error;
          }
          position = one.position;
        }
        await turn();
        if (stopped) return null;
        caughtUp?.();
        await new Promise<void>((resolve) => woken.add(resolve));
      }
      return null;
    };
    const failure = run();
    return {
      stop: async () => {
        stopped = true;
        for (const wake of woken) wake();
        await failure;
      },
      position: () => position,
      failure,
    };
  };

  const log: Pick<Log, 'follow' | 'readAll'> = {
    follow,
    readAll: async function* ({ backwards = false } = {}) {
      for (let step = 0; step < length; step++) yield eventOf(backwards ? length - 1 - step : step);
    },
  };
  return {
    log: log as Log,
    eventOf,
    /** The log has so many events from now on. */
    grow: (to: number): void => {
      length = to;
      for (const wake of woken) wake();
      woken.clear();
    },
  };
};
