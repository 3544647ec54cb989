import { z } from 'zod';
import { Refusal } from '../../domain/refusal.ts';

/** EX_TEMPFAIL: the service has refused a request of the command because of the budget. */
export const BUDGET_EXIT_CODE = 75;

/** In US dollars. */
type Members = {
  readonly resets_at?: string | undefined;
  readonly limit_usd?: number | undefined;
  readonly left_usd?: number | undefined;
};

/** `isCertain`: the service has refused a request because of the budget; otherwise, this is only possible. */
export type BudgetRefusal = Members & { readonly isCertain: boolean };

/**
 * A request exceeds the hourly budget of the agent. If a handler throws this error, the runner keeps the event until the budget allows it;
 * this does not count as a failed attempt. `resetsAt` is the end of the hour.
 */
export class BudgetExceeded extends Refusal {
  readonly resetsAt: string;
  constructor(detail: string, resetsAt: string, amounts: Omit<Members, 'resets_at'> = {}) {
    super('budget_exceeded', detail, { members: { ...amounts, resets_at: resetsAt } });
    this.name = 'BudgetExceeded';
    this.resetsAt = resetsAt;
  }
}

/** Returns the refusal that a handler has thrown, or that caused its error; undefined if there is none. */
export const budgetRefusalOf = (error: unknown): BudgetRefusal | undefined => {
  if (error instanceof BudgetExceeded) return { ...error.extra.members, isCertain: true };
  return error instanceof Error && error.cause !== undefined ? budgetRefusalOf(error.cause) : undefined;
};

const Problem = z.object({
  code: z.literal('budget_exceeded'),
  resets_at: z.string().optional().catch(undefined),
  limit_usd: z.number().optional().catch(undefined),
  left_usd: z.number().optional().catch(undefined),
});

/** `body` is the body of an answer with the status 429. Returns undefined if it has another problem code, or none. */
export const budgetRefusalIn = (body: string): BudgetRefusal | undefined => {
  try {
    const { resets_at, limit_usd, left_usd } = Problem.parse(JSON.parse(body));
    return { resets_at, limit_usd, left_usd, isCertain: true };
  } catch {
    return undefined;
  }
};
