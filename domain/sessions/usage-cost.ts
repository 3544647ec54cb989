/** The maximum cost of one message. */
export const MAX_COST_MICROS = 10_000_000_000;

/** In US dollars per million tokens, which is micro-dollars per token. */
type Pricing = Readonly<Record<string, unknown>>;

/** 0 if it is missing, negative or not a number. */
export const priceOf = (pricing: Pricing, name: string): number => {
  const price = pricing[name];
  return typeof price === 'number' && Number.isFinite(price) && price > 0 ? price : 0;
};

/** In micro-dollars, from the prices `input_per_mtok` and `output_per_mtok` (see `priceOf`). */
export const costByPricing = (pricing: Pricing, prompt_tokens: number, completion_tokens: number): number =>
  Math.min(
    MAX_COST_MICROS,
    Math.round(prompt_tokens * priceOf(pricing, 'input_per_mtok') + completion_tokens * priceOf(pricing, 'output_per_mtok')),
  );

const MICROS_PER_CENT = 10_000;

/** Only responses contain cents; the log contains micro-dollars. */
export const centsOf = (micros: number): number => Math.round(micros / MICROS_PER_CENT);
