import { priceOf } from '../sessions/usage-cost.ts';
import type { UsageTotals } from './agent-costs.ts';

/** In micro-dollars; the billed cost without `prices`. Not rounded, so that a total is the same however the usage is grouped. */
export const repricedMicros = (
  { input_tokens, output_tokens, cost_micros }: UsageTotals,
  pricing: Readonly<Record<string, unknown>>,
): number => {
  const [input, output] = [priceOf(pricing, 'input_per_mtok'), priceOf(pricing, 'output_per_mtok')];
  return input === 0 && output === 0 ? cost_micros : input_tokens * input + output_tokens * output;
};
