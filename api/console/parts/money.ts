/** US dollars as people read them: two decimals, more for amounts below a cent. */
export const usd = (amount: number): string => {
  const size = Math.abs(amount);
  const digits = size === 0 || size >= 0.01 ? 2 : 6;
  const text = size.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: digits });
  return `${amount < 0 ? '−' : ''}$${text}`;
};

/** US cents that were rounded. If something was used, the cost is not shown as nothing. */
export const cents = (amount: number, isUsed: boolean): string => (amount === 0 && isUsed ? 'below $0.01' : usd(amount / 100));

export const count = (number: number): string => number.toLocaleString('en-US');
