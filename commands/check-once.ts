import type { Ctx } from './context.ts';

/**
 * Runs a check as a side effect. So a repeat with the same Idempotency-Key skips it, and succeeds even if the check
 * would fail by then. @throws what the check throws
 */
export const checkOnce = (ctx: Pick<Ctx, 'sideEffect'>, check: () => Promise<void>): Promise<null> =>
  ctx.sideEffect(async () => {
    await check();
    return null;
  });
