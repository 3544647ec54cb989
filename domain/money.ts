import { z } from 'zod';

const MICROS_PER_USD = 1_000_000;
/** The largest amount that is converted to micro-dollars exactly. */
const MAX_USD = 1_000_000_000;

/** At most six decimals. Events contain micro-dollars. */
export const Usd = z
  .number()
  .min(0)
  .max(MAX_USD)
  .refine((usd) => Number(usd.toFixed(6)) === usd, 'must have at most 6 decimals');

export const microsOf = (usd: number): number => Math.round(usd * MICROS_PER_USD);

export const usdOf = (micros: number): number => micros / MICROS_PER_USD;
