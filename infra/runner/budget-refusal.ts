import { z } from 'zod';
import { Refusal } from '../../domain/refusal.ts';

/** A command ends with this exit code (EX_TEMPFAIL) if the service has refused it something because of the budget. */
export const BUDGET_EXIT_CODE = 75;

/** What a refusal because of the budget says. `limit_usd` and `left_usd` are amounts in US dollars. */
type Members = {
  readonly resets_at?: string | undefined;
  readonly limit_usd?: number | undefined;
  readonly left_usd?: number | undefined;
};

/**
 * What the end of a run says about the budget. `isCertain`: the service has refused something because of it; otherwise,
 * this is only possible.
 */
export type BudgetRefusal = Members & { readonly isCertain: boolean };

/**
 * The error of a request that the hourly budget of the agent does not allow. If a handler throws it, the runner keeps the
 * event until the budget allows to process it; this is no failed attempt. `resetsAt` is the end of the hour.
 */
export class BudgetExceeded extends Refusal {
  readonly resetsAt: string;
  constructor(detail: string, resetsAt: string, amounts: Omit<Members, 'resets_at'> = {}) {
    super('budget_exceeded', detail, { members: { ...amounts, resets_at: resetsAt } });
    this.name = 'BudgetExceeded';
    this.resetsAt = resetsAt;
  }
}

/** Returns the refusal that a handler has thrown, or that caused its error; undefined if the error is another one. */
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

/** Returns the refusal in the body of an answer with the status 429; undefined if it has another code, or none. */
export const budgetRefusalIn = (body: string): BudgetRefusal | undefined => {
  try {
    const { resets_at, limit_usd, left_usd } = Problem.parse(JSON.parse(body));
    return { resets_at, limit_usd, left_usd, isCertain: true };
  } catch {
    return undefined;
  }
};
