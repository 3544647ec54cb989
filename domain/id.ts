import { z } from 'zod';

export const id25 = /^c[a-z0-9]{24}$/;

/** A string of exactly 25 characters: `c` and 24 of a-z0-9. */
export const Id25 = z.string().regex(id25, 'must be an id of 25 characters');

export const isId25 = (text: string): boolean => text.length === 25 && id25.test(text);
