import { comparePositions, type Position, parseToken, tokenOf } from '../../domain/event.ts';
import type { Principal } from '../../domain/principal.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Reads } from '../../projections/read-model.ts';

/** So long a read waits by itself; a Consistency-Token waits longer, and refuses where it waits in vain. */
const WAIT_TIMEOUT_MS = 250;
/** What was written so long ago is in the view, or the view is too far behind to be waited for. */
const WRITE_TTL_MS = 2_000;
/** A view that was waited for in vain is not waited for again so soon. */
const SKIP_WAIT_MS = 1_000;
const MAX_CALLERS = 10_000;

const callerOf = (principal: Principal): string | null => {
  if (principal.kind === 'system') return null;
  return principal.kind === 'user' ? principal.user_id : principal.agent_id;
};

type Write = { readonly position: Position; readonly at: number };

export type ReadYourWrites = {
  readonly recordWrite: (principal: Principal, position: Position | null) => void;
  readonly waitForOwnWrites: (principal: Principal, views: readonly string[], token: string | undefined) => Promise<void>;
};

/**
 * Callers read what they wrote before through the same process, without saying so: `noted` is told where an answered mutation lies, `settled`
 * waits until the views have passed the caller's last one, a quarter of a second at most. Behind that the read answers as the views
 * stand, which its Projection-Position tells. A token that was sent is waited for instead. @throws Refusal malformed, not_caught_up, of a token alone
 */
export const readYourWrites = (reads: Pick<Reads, 'passed'>, now: () => number = () => performance.now()): ReadYourWrites => {
  const last = new Map<string, Write>();
  const vain = new Map<string, number>();

  const waitFor = async (view: string, token: string): Promise<void> => {
    if (now() < (vain.get(view) ?? 0)) return;
    await reads.passed(view, token, WAIT_TIMEOUT_MS).catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
      vain.set(view, now() + SKIP_WAIT_MS);
    });
  };

  return {
    recordWrite: (principal, position) => {
      const caller = callerOf(principal);
      if (!caller || !position) return;
      const known = last.get(caller);
      // Several at once may be answered in another order than they were written.
      if (known && comparePositions(known.position, position) > 0) return;
      if (!known && last.size >= MAX_CALLERS) last.clear();
      last.set(caller, { position, at: now() });
    },
    waitForOwnWrites: async (principal, views, token) => {
      if (token !== undefined) {
        if (!parseToken(token)) throw new Refusal('malformed', 'this is no Consistency-Token');
        return void (await Promise.all(views.map((view) => reads.passed(view, token))));
      }
      const caller = callerOf(principal);
      const written = caller === null ? undefined : last.get(caller);
      if (!written) return;
      if (now() - written.at > WRITE_TTL_MS) last.delete(caller!);
      else await Promise.all(views.map((view) => waitFor(view, tokenOf(written.position))));
    },
  };
};
