import { randomUUID } from 'node:crypto';
import type { Ctx } from '../../commands/context.ts';
import { faultOfAdminKey } from '../../commands/identity/admin-key.ts';
import { type FirstKey, seedPlatform } from '../../commands/operations/seed-platform.ts';
import { PLATFORM } from '../../domain/event.ts';
import { isConflict, type Log } from '../eventstore/event-log.ts';
import { MARKER_STREAM } from '../eventstore/platform-id.ts';

/**
 * Creates the resources that an empty log needs at the first start. Does nothing if the log is already marked as
 * seeded. `show` is called with the first API key before the log is marked. If the process crashes in between, the next
 * start shows the key again.
 */
export const seed = async (
  log: Log,
  ctx: Ctx,
  adminKey: string | undefined,
  show: (first: FirstKey) => void | Promise<void>,
): Promise<void> => {
  if (await log.last(MARKER_STREAM)) return;
  const first = await seedPlatform(ctx, adminKey);
  await show(first);
  const meta = { tenant: PLATFORM, actor: ctx.actor, at: ctx.at(), v: 1 };
  const marker = { id: randomUUID(), type: 'PlatformStarted', data: { tenant_id: first.tenant_id }, meta };
  await log.append(MARKER_STREAM, 'none', [marker]).catch((error) => {
    if (!isConflict(error)) throw error;
  });
};

/**
 * If ANNALS_ADMIN_KEY is set but is not an API key of a super-admin, reports this. Only the first start creates the key
 * of this variable. Later, the variable changes nothing.
 */
export const checkAdminKey = async (ctx: Ctx, adminKey: string | undefined, report: (line: string) => void): Promise<void> => {
  const fault = adminKey === undefined ? null : await faultOfAdminKey(ctx, adminKey);
  if (fault !== null)
    report(`ANNALS_ADMIN_KEY does not work: ${fault}; only the first start uses it, so create a key with annals keys create --super-admin`);
};
