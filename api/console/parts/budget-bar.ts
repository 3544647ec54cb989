import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { counted } from './count-text.ts';
import { usd } from './money.ts';
import { type Child, element, tags } from './tags.ts';
import { zoned } from './time.ts';

const { div, span } = tags;

type Hour = ReplyOf<Rows['readBudgetUsage']>[number];

const HOUR_MS = 3_600_000;
/** Amounts are exact in micro-dollars; their sum as a binary fraction is not. */
const MICROS = 1_000_000;
/** The share of its limit from which a budget is nearly used up. */
const NEAR = 0.8;

type Used = { readonly hour: string; readonly used_usd: number; readonly limit_usd: number };

/** Renders how much of an hourly limit is used, and until when the agent is stopped. */
export const limitBar = ({ hour, used_usd: used, limit_usd: limit }: Used, ...more: Child[]) => {
  const state = used >= limit ? 'stopped' : used >= limit * NEAR ? 'near' : 'ok';
  const text = `${usd(used)} of ${usd(limit)} this hour`;
  const attributes = {
    min: '0',
    max: String(Math.max(limit, 0.000001)),
    value: String(used),
    low: String(limit * NEAR),
    high: String(limit),
  };
  return div(
    { class: 'budget-bar', 'data-budget': state },
    element('meter', { ...attributes, optimum: '0', 'aria-label': `Budget: ${text}` }),
    span(null, text, state === 'stopped' ? [', stopped until ', zoned(new Date(Date.parse(hour) + HOUR_MS).toISOString(), 'clock')] : null),
    ...more,
  );
};

type Amounts = Pick<Hour, 'open_usd' | 'settled_usd' | 'sessions_usd'>;

/** Returns what counts against the limit of an hour: sessions, settled reservations and those that are still open. */
const usedIn = ({ open_usd, settled_usd, sessions_usd }: Amounts): number =>
  Math.round((open_usd + settled_usd + sessions_usd) * MICROS) / MICROS;

/** Whether an agent has used up its hourly budget. */
export const isSpent = (hour: Amounts & Pick<Hour, 'limit_usd'>): boolean => hour.limit_usd !== null && usedIn(hour) >= hour.limit_usd;

/** Renders how much of its hourly budget an agent has used in an hour, and until when it is stopped. */
export const budgetBar = (shown: Hour) => {
  const { hour, limit_usd, refused, refused_sessions } = shown;
  const used_usd = usedIn(shown);
  if (limit_usd === null) return span({ 'data-budget': 'none' }, `${usd(used_usd)} this hour, no limit`);
  const count = refused + refused_sessions;
  return limitBar({ hour, used_usd, limit_usd }, count > 0 ? span({ class: 'quiet' }, `${counted(count, 'request')} refused`) : null);
};
