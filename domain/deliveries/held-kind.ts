import type { BlockReason } from '../guardrails/guardrail.ts';

/** The hourly budget of the agent, the limit of a rate, or the working hours of the agent. */
export const HELD_KINDS = ['budget', 'rate', 'hours'] as const;
export type HeldKind = (typeof HELD_KINDS)[number];

export const WORKING_HOURS_RULE = 'working_hours';

/** A delivery that waits for earlier ones of its source is held by the rule that holds those. */
export const heldKind = (reason: BlockReason | 'budget' | (string & {}), rule: string | null): HeldKind => {
  if (reason === 'budget') return 'budget';
  return reason === 'outside_working_hours' || rule === WORKING_HOURS_RULE ? 'hours' : 'rate';
};
