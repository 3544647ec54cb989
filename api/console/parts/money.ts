import { tags } from './tags.ts';

const { data } = tags;

const formatOf = (maximumFractionDigits: number) => new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits });
const CENTS = formatOf(2);
const MICRODOLLARS = formatOf(6);

/** Formats an amount in US dollars: with two decimals or, below one cent, with six. */
export const usd = (amount: number): string => {
  const size = Math.abs(amount);
  const { format } = size === 0 || size >= 0.01 ? CENTS : MICRODOLLARS;
  return `${amount < 0 ? '−' : ''}$${format(size)}`;
};

/** Renders an amount in US dollars. All its decimals are shown on hover, so that amounts add up to their total. */
export const exactUsd = (amount: number) => data({ value: String(amount), title: `$${amount.toFixed(6)}` }, usd(amount));

/**
 * Formats a rounded amount in US cents. If it was rounded to zero although something was used, the result says that it
 * is below one cent.
 */
export const cents = (amount: number, isUsed: boolean): string => (amount === 0 && isUsed ? 'below $0.01' : usd(amount / 100));
