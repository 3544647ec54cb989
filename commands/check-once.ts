import type { Ctx } from './context.ts';

/**
 * Not run again by a repeat with the same Idempotency-Key, which succeeds even if the check would fail by then. @throws those of the check
 */
export const checkOnce = (ctx: Pick<Ctx, 'sideEffect'>, check: () => Promise<void>): Promise<null> =>
  ctx.sideEffect(async () => {
    await check();
    return null;
  });
