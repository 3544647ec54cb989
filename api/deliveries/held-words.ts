import type { Held } from '../../projections/deliveries/delivery-fields.ts';

type Why = Pick<Held, 'reason' | 'rule' | 'note'>;

const WORDS: Readonly<Record<string, (why: Why) => string>> = {
  budget: () => 'the hourly budget is used up',
  earlier_held: ({ rule }) => `earlier deliveries wait${rule === null ? '' : ` for the rule ${rule}`}`,
  outside_working_hours: ({ note }) => note ?? 'outside the working hours',
  rate: ({ rule, note }) => `${rule === null ? 'rate' : `rule ${rule}`}${note === null ? '' : `: ${note}`}`,
};

/** Says why a delivery is held or blocked: by which rule, and what it found. */
export const whyWords = (why: Why): string => {
  const { reason, rule, note } = why;
  const words = reason.replaceAll('_', ' ');
  return WORDS[reason]?.(why) ?? `${words}${rule === null || rule === reason ? '' : `, rule ${rule}`}${note === null ? '' : `: ${note}`}`;
};

/** Returns the time until which something is held; null if it is over, because something else holds it now. */
export const futureUntil = (until: string | null, now = Date.now()): string | null =>
  until === null || Date.parse(until) <= now ? null : until;
