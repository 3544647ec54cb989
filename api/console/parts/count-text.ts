import { nounOf } from '../../http/counted.ts';

const COUNT = new Intl.NumberFormat('en-US');

/** Formats a number with separators between thousands: `1,204`. */
export const countText = (number: number): string => COUNT.format(number);

/** Formats a number with a unit in the singular or plural: `1 event`, `1,204 events`. */
export const counted = (number: number, unit: string): string => `${countText(number)} ${nounOf(number, unit)}`;
