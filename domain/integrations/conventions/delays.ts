/** In seconds. */
export const MINUTE = 60;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const repeat = (times: number, seconds: number): readonly number[] => Array.from({ length: times }, () => seconds);
