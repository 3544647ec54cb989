import type { PlaceLimits } from '../egress/request-places.ts';

type Call = () => Promise<void>;
type HostCalls = { running: number; readonly waiting: Call[] };

/**
 * Limits the calls at the same time. Calls to one host keep their order, and hosts take turns, so that a slow one does not delay the
 * others.
 */
export const createCallQueue = ({ total, perHost }: PlaceLimits) => {
  const hosts = new Map<string, HostCalls>();
  /** The hosts whose next call may start as soon as the total number of running calls allows it. */
  const ready = new Set<string>();
  let running = 0;

  const update = (host: string, calls: HostCalls): void => {
    if (calls.waiting.length > 0 && calls.running < perHost) ready.add(host);
    if (calls.waiting.length + calls.running === 0) hosts.delete(host);
  };

  const start = (host: string): void => {
    const calls = hosts.get(host)!;
    const call = calls.waiting.shift()!;
    ready.delete(host);
    calls.running++;
    running++;
    update(host, calls);
    void call().finally(() => {
      calls.running--;
      running--;
      update(host, calls);
      startReady();
    });
  };

  const startReady = (): void => {
    for (const host of ready) {
      if (running >= total) return;
      start(host);
    }
  };

  /** The call must not reject. */
  const add = (host: string, call: Call): void => {
    const calls = hosts.get(host) ?? { running: 0, waiting: [] };
    hosts.set(host, calls);
    calls.waiting.push(call);
    update(host, calls);
    startReady();
  };

  return { add };
};
