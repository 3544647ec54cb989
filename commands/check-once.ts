import type { Ctx } from './context.ts';

/** A repeat with the same Idempotency-Key does not check again, and so succeeds even if the check would fail. @throws those of the check */
export const checkOnce = (ctx: Pick<Ctx, 'sideEffect'>, check: () => Promise<void>): Promise<null> =>
  ctx.sideEffect(async () => {
    await check();
    return null;
  });
