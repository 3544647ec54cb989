import type { BudgetGate } from './budget-gate.ts';
import type { Failure } from './failed-attempt.ts';

/** The event waited for the budget when the runner was stopped. Its handler has had no effect. */
export const GIVEN_BACK: Failure = {
  reason: 'the hourly budget of the agent was used up until the runner was stopped',
  cause: { outcome: 'released' },
};

type Waiting = { readonly budget: BudgetGate; readonly ending: AbortSignal };

/**
 * Calls `run` when the budget allows it, and again whenever the budget turns out to be used up in the meantime.
 * @returns the result of the last call; GIVEN_BACK if `ending` is aborted while the event waits
 */
export const withinBudget = async ({ budget, ending }: Waiting, run: () => Promise<Failure | null>): Promise<Failure | null> => {
  while (await budget.untilOpen(ending)) {
    const failure = await run();
    if (!failure?.budget || !(await budget.noteRefusal(failure.budget, ending))) return failure;
  }
  return GIVEN_BACK;
};
