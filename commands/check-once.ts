import type { Ctx } from './context.ts';

/**
 * Runs a check as a side effect. A repeat with the same Idempotency-Key does not run the check again, and so succeeds
 * even if the check would fail by then.
 * @throws the errors of the check
 */
export const checkOnce = (ctx: Pick<Ctx, 'sideEffect'>, check: () => Promise<void>): Promise<null> =>
  ctx.sideEffect(async () => {
    await check();
    return null;
  });
