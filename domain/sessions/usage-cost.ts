/** The maximum cost of one message, in micro-dollars. */
export const MAX_COST_MICROS = 10_000_000_000;

/** The prices of a model in US dollars per million tokens, which is the same as micro-dollars per token. */
type Pricing = Readonly<Record<string, unknown>>;

/** Returns the price with this name. Returns 0 if it is missing, negative or not a number. */
export const priceOf = (pricing: Pricing, name: string): number => {
  const price = pricing[name];
  return typeof price === 'number' && Number.isFinite(price) && price > 0 ? price : 0;
};

/**
 * Returns the cost of these tokens in micro-dollars, from the prices `input_per_mtok` and `output_per_mtok` of the
 * model. A price that is missing, negative or not a number counts as 0.
 */
export const costByPricing = (pricing: Pricing, prompt_tokens: number, completion_tokens: number): number =>
  Math.min(
    MAX_COST_MICROS,
    Math.round(prompt_tokens * priceOf(pricing, 'input_per_mtok') + completion_tokens * priceOf(pricing, 'output_per_mtok')),
  );

const MICROS_PER_CENT = 10_000;

/** Rounds micro-dollars to cents. Only responses contain cents; the log contains micro-dollars. */
export const centsOf = (micros: number): number => Math.round(micros / MICROS_PER_CENT);
