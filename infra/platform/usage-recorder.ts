import type { Logger } from 'pino';
import type { Ctx } from '../../commands/context.ts';
import { recordSeen } from '../../commands/identity/sign-in.ts';
import { PLATFORM } from '../../domain/event.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import * as SignIn from '../../domain/identity/sign-in.ts';
import { USAGE_INTERVAL_MS } from '../../domain/identity/usage.ts';
import type * as User from '../../domain/identity/user.ts';
import type { Principal } from '../../domain/principal.ts';
import { createLruMap } from '../lru-map.ts';

export type UsageRecorder = {
  /** The actor of the event is `principal`. */
  readonly keyUsed: (key: ApiKey.ApiKey, principal: Principal) => void;
  readonly userSeen: (user: User.User) => void;
  readonly signInSeen: (signIn: SignIn.SignIn) => void;
};

export type UsageRecorderDeps = {
  readonly contextOf: (principal: Principal, tenant?: string) => Ctx;
  readonly systemContext: () => Ctx;
  readonly logger: Logger;
  readonly now: () => number;
};

/**
 * Records when API keys were used, and when users and their browsers made requests, at most once an hour for each.
 * Requests do not wait for the append. If an append fails, this is only logged, because only a time of last use is then
 * outdated.
 */
export const createUsageRecorder = ({ contextOf, systemContext, logger, now }: UsageRecorderDeps): UsageRecorder => {
  const lastHours = createLruMap<string, number>({ capacity: 50_000 });

  const hourly = (id: string, record: () => Promise<unknown>): void => {
    const hour = Math.floor(now() / USAGE_INTERVAL_MS);
    if (lastHours.get(id) === hour) return;
    lastHours.set(id, hour);
    record().catch((error) => logger.debug({ err: error }, 'the time of last use could not be recorded'));
  };

  return {
    keyUsed: ({ id, tenant_id }, principal) =>
      hourly(id, () => contextOf(principal, tenant_id ?? PLATFORM).transact(ApiKey, id, ApiKey.recordUse(new Date(now()).toISOString()))),
    userSeen: ({ id }) => hourly(id, () => recordSeen(systemContext(), id)),
    signInSeen: ({ id }) => hourly(id, () => systemContext().transact(SignIn, id, SignIn.recordUse(new Date(now()).toISOString()))),
  };
};
