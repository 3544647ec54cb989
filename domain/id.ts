import { z } from 'zod';

export const id25 = /^c[a-z0-9]{24}$/;

/** A resource id: `c` and 24 characters of a-z0-9. */
export const Id25 = z.string().regex(id25, 'must be an id: c and 24 characters of a-z0-9');

export const isId25 = (text: string): boolean => text.length === 25 && id25.test(text);
