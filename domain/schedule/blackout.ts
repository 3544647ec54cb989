import { applyResets, changedFields } from '../aggregate.ts';
import type { Recorded } from '../event.ts';
import { invalid, Refusal } from '../refusal.ts';
import { localTimeOf } from '../time-zone.ts';

export const category = 'blackout';

/** Both days (YYYY-MM-DD in `timezone`) belong to the blackout. Without `agent_id`, it is for all agents of the tenant. */
export type BlackoutFields = {
  readonly name: string;
  readonly start_date: string;
  readonly end_date: string;
  readonly agent_id: string | null;
  readonly reason: string | null;
  readonly recurring_yearly: boolean;
  readonly timezone: string;
};

export type BlackoutDays = Pick<BlackoutFields, 'start_date' | 'end_date' | 'recurring_yearly' | 'timezone'>;

export type BlackoutEvent =
  | { type: 'BlackoutDeclared'; data: BlackoutFields }
  | { type: 'BlackoutChanged'; data: Partial<BlackoutFields> }
  | { type: 'BlackoutLifted'; data: object };

export type Blackout = BlackoutFields & {
  readonly status: 'absent' | 'declared' | 'lifted';
  readonly id: string;
  readonly tenant_id: string;
  readonly created_by_user_id: string | null;
  readonly created_at: string;
  readonly updated_at: string;
};

export const initial: Blackout = {
  status: 'absent',
  id: '',
  tenant_id: '',
  created_by_user_id: null,
  name: '',
  start_date: '',
  end_date: '',
  agent_id: null,
  reason: null,
  recurring_yearly: false,
  timezone: 'UTC',
  created_at: '',
  updated_at: '',
};

const applyEvent = (blackout: Blackout, { id, tenant, at, actor, type, data }: Recorded<BlackoutEvent>): Blackout => {
  switch (type) {
    case 'BlackoutDeclared': {
      const created_by_user_id = actor.kind === 'user' ? actor.id : null;
      return { ...blackout, ...data, status: 'declared', id, tenant_id: tenant, created_by_user_id, created_at: at };
    }
    case 'BlackoutChanged':
      return { ...blackout, ...data };
    case 'BlackoutLifted':
      return { ...blackout, status: 'lifted' };
  }
};

export const evolve = (blackout: Blackout, event: Recorded<BlackoutEvent>): Blackout => ({
  ...applyEvent(blackout, event),
  updated_at: event.at,
});

/** @throws Refusal not_found if the blackout does not exist or was lifted (removed) */
export const assertDeclared = ({ status }: Blackout): void => {
  if (status !== 'declared') throw new Refusal('not_found', 'There is no such blackout');
};

/** @throws Refusal invalid if the last day is before the first day */
export const assertOrdered = ({ start_date, end_date }: Pick<BlackoutFields, 'start_date' | 'end_date'>): void => {
  if (end_date < start_date) throw invalid('/end_date', 'must not be before start_date', 'before_start');
};

/** @throws Refusal invalid if the blackout would end before it starts */
export const declare =
  (fields: BlackoutFields) =>
  (blackout: Blackout): BlackoutEvent[] => {
    assertOrdered(fields);
    return blackout.status === 'absent' ? [{ type: 'BlackoutDeclared', data: fields }] : [];
  };

export type BlackoutChanges = { [Name in keyof BlackoutFields]?: BlackoutFields[Name] | null | undefined };

const resets = { agent_id: null, reason: null, recurring_yearly: false, timezone: 'UTC' } as const;

/** @throws Refusal not_found if it does not exist, invalid if it would end before it starts */
export const change =
  (changes: BlackoutChanges) =>
  (blackout: Blackout): BlackoutEvent[] => {
    assertDeclared(blackout);
    const fields = changedFields(blackout, applyResets(changes, resets)) as Partial<BlackoutFields>;
    assertOrdered({ ...blackout, ...fields });
    return Object.keys(fields).length > 0 ? [{ type: 'BlackoutChanged', data: fields }] : [];
  };

/** @throws Refusal not_found if it does not exist */
export const lift = (blackout: Blackout): BlackoutEvent[] => {
  assertDeclared(blackout);
  return [{ type: 'BlackoutLifted', data: {} }];
};

/** In a year without 29 February, 28 February takes its place. */
const inYear = (date: string, year: number): string => Temporal.PlainDate.from(date).with({ year }).toString();

/** The days of a yearly blackout, `years` years after its first year. */
const daysAfter = ({ start_date, end_date }: BlackoutDays, years: number): readonly [string, string] => [
  inYear(start_date, Number(start_date.slice(0, 4)) + years),
  inYear(end_date, Number(end_date.slice(0, 4)) + years),
];

/** Years for which `periodsFrom` lists a yearly blackout. */
const MAX_YEARS = 30;
const LAST_YEAR = 9_999;
const LAST_DAY = '9999-12-31';

const yearOf = (date: string): number => Number(date.slice(0, 4));

/** The first and the last day of each period, except of those that end before `day` or start after `until`. */
export const periodsFrom = (
  blackout: BlackoutDays,
  day: string,
  until: string = LAST_DAY,
): readonly (readonly [first: string, last: string])[] => {
  const { start_date, end_date, recurring_yearly } = blackout;
  if (start_date > until || (!recurring_yearly && end_date < day)) return [];
  if (!recurring_yearly) return [[start_date, end_date]];
  const first = Math.max(0, yearOf(day) - yearOf(end_date));
  const count = Math.max(0, Math.min(MAX_YEARS, yearOf(until) - yearOf(start_date) - first + 1));
  return Array.from({ length: count }, (_, n) => first + n)
    .filter((after) => yearOf(end_date) + after < LAST_YEAR || after === 0)
    .map((after) => daysAfter(blackout, after))
    .filter(([start, last]) => last >= day && start <= until);
};

/** `instant` is RFC 3339. */
export const covers = (blackout: BlackoutDays, instant: string): boolean => {
  const day = localTimeOf(instant, blackout.timezone).slice(0, 10);
  if (day < blackout.start_date) return false;
  if (!blackout.recurring_yearly) return day <= blackout.end_date;
  const yearsOfLength = Number(blackout.end_date.slice(0, 4)) - Number(blackout.start_date.slice(0, 4));
  const latest = Number(day.slice(0, 4)) - Number(blackout.start_date.slice(0, 4));
  for (let years = Math.max(0, latest - yearsOfLength); years <= latest; years++) {
    const [first, last] = daysAfter(blackout, years);
    if (day >= first && day <= last) return true;
  }
  return false;
};

export const appliesTo = (blackout: BlackoutFields, agent_id: string): boolean =>
  blackout.agent_id === null || blackout.agent_id === agent_id;
