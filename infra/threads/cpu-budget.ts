import { Refusal } from '../../domain/refusal.ts';
import { createLruMap } from '../lru-map.ts';

/**
 * Processor time of the main thread for checks whose cost the tenant chooses: `burstMs` at once, then `perSecond` milliseconds per second.
 */
export type CpuBudgetOptions = {
  readonly burstMs?: number;
  readonly perSecond?: number;
  readonly onRefused?: () => void;
  readonly now?: () => number;
  /** The processor time that this thread has used, in milliseconds. */
  readonly used?: () => number;
};

const BURST_MS = 2_000;
const MS_PER_SECOND = 100;
const MAX_TENANTS = 50_000;
const MILLISECONDS = 1_000;

type Account = { leftMs: number; at: number };

const threadCpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / MILLISECONDS;
};

/** A tenant without budget is refused until time has passed, so it cannot keep the main thread from other requests. */
export const createCpuBudgets = ({
  burstMs = BURST_MS,
  perSecond = MS_PER_SECOND,
  onRefused = () => {},
  now = () => performance.now(),
  used = threadCpuMs,
}: CpuBudgetOptions = {}) => {
  const accounts = createLruMap<string, Account>({ capacity: MAX_TENANTS });

  const accountOf = (tenant: string): Account => {
    const at = now();
    const known = accounts.get(tenant) ?? { leftMs: burstMs, at };
    const leftMs = Math.min(burstMs, known.leftMs + ((at - known.at) / MILLISECONDS) * perSecond);
    const account = { leftMs, at };
    accounts.set(tenant, account);
    return account;
  };

  return {
    /** Charges the processor time to the tenant. @throws Refusal rate_limited if its budget is used up */
    charge: <T>(tenant: string, check: () => T): T => {
      const account = accountOf(tenant);
      if (account.leftMs <= 0) {
        onRefused();
        const retryAfter = Math.max(1, Math.ceil(-account.leftMs / perSecond));
        throw new Refusal('rate_limited', 'the checks of this tenant have used too much processor time: wait, or use simpler schemas', {
          retryAfter,
        });
      }
      const before = used();
      try {
        return check();
      } finally {
        account.leftMs -= used() - before;
      }
    },
  };
};

export type CpuBudgets = ReturnType<typeof createCpuBudgets>;
