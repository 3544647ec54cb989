import type { Logger } from 'pino';
import type { Ctx } from '../../commands/context.ts';
import { recordSeen } from '../../commands/identity/sign-in.ts';
import { PLATFORM } from '../../domain/event.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import { USAGE_INTERVAL_MS } from '../../domain/identity/usage.ts';
import type * as User from '../../domain/identity/user.ts';
import { createLruMap } from '../lru-map.ts';

export type UsageRecorder = {
  readonly keyUsed: (key: ApiKey.ApiKey) => void;
  readonly userSeen: (user: User.User) => void;
};

export type UsageRecorderDeps = {
  readonly systemContext: (tenant?: string) => Ctx;
  readonly logger: Logger;
  readonly now: () => number;
};

/**
 * Records the use of API keys and users, at most once an hour for each. Requests do not wait for the append. If an
 * append fails, the failure is only logged, because only the time of last use is outdated.
 */
export const createUsageRecorder = ({ systemContext, logger, now }: UsageRecorderDeps): UsageRecorder => {
  const lastHours = createLruMap<string, number>({ capacity: 50_000 });

  const hourly = (id: string, record: () => Promise<unknown>): void => {
    const hour = Math.floor(now() / USAGE_INTERVAL_MS);
    if (lastHours.get(id) === hour) return;
    lastHours.set(id, hour);
    record().catch((error) => logger.debug({ err: error }, 'the time of last use could not be recorded'));
  };

  return {
    keyUsed: ({ id, tenant_id }) =>
      hourly(id, () => systemContext(tenant_id ?? PLATFORM).transact(ApiKey, id, ApiKey.recordUse(new Date(now()).toISOString()))),
    userSeen: ({ id }) => hourly(id, () => recordSeen(systemContext(), id)),
  };
};
