/** Formats US dollars: with two decimals, or with more for amounts below a cent. */
export const usd = (amount: number): string => {
  const size = Math.abs(amount);
  const digits = size === 0 || size >= 0.01 ? 2 : 6;
  const text = size.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: digits });
  return `${amount < 0 ? '−' : ''}$${text}`;
};

/**
 * Formats US cents that were rounded. If the amount was rounded to zero although something was used, the result says
 * so.
 */
export const cents = (amount: number, isUsed: boolean): string => (amount === 0 && isUsed ? 'below $0.01' : usd(amount / 100));

export const count = (number: number): string => number.toLocaleString('en-US');
