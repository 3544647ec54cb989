import type { BudgetGate } from './budget-gate.ts';
import type { Failure } from './failed-attempt.ts';

/** The runner stopped while the event waited for the budget. Its handler has had no effect. */
export const GIVEN_BACK: Failure = {
  reason: 'the runner was stopped before the hourly budget of the agent allowed the event',
  cause: { outcome: 'released' },
};

type Waiting = { readonly budget: BudgetGate; readonly ending: AbortSignal };

/** Calls `run` again whenever the budget turns out to be used up meanwhile. Returns the last result; GIVEN_BACK if `ending` is aborted. */
export const withinBudget = async ({ budget, ending }: Waiting, run: () => Promise<Failure | null>): Promise<Failure | null> => {
  while (await budget.untilOpen(ending)) {
    const failure = await run();
    if (!failure?.budget || !(await budget.noteRefusal(failure.budget, ending))) return failure;
  }
  return GIVEN_BACK;
};
