/** `delivery` for 1, otherwise `deliveries`. */
export const nounOf = (count: number, noun: string): string => (count === 1 ? noun : `${noun.replace(/(?<![aeiou])y$/, 'ie')}s`);

/** `1 delivery`, `2 deliveries`. */
export const counted = (count: number, noun: string): string => `${count} ${nounOf(count, noun)}`;
