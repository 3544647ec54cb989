import { z } from 'zod';

/** A schema for a query parameter with at most `max` ids, separated by commas. `what` says what they identify: `agents`. */
export const idList = (what: string, max: number) =>
  z
    .string()
    .regex(
      new RegExp(`^c[a-z0-9]{24}(,c[a-z0-9]{24}){0,${max - 1}}$`),
      `must be a list of at most ${max} ids of ${what}, separated by commas`,
    );
