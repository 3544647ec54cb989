import { localTimeOf } from './local-time.ts';
import { type Child, tags } from './tags.ts';

const { div } = tags;

const DAY = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });

/** Returns the day (YYYY-MM-DD) of a time in a time zone. */
export const dayOf = ({ created_at }: { readonly created_at: string }, zone: string): string => localTimeOf(created_at, zone).date;

/** Names a day: `Thursday, 26 Nov 2026`. */
export const dayName = (day: string): string => DAY.format(new Date(day));

/** Renders the line above what happened on a day. */
export const dayLine = (day: string): Child => div({ class: 'message-day quiet' }, dayName(day));
