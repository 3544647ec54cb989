import type { Rows } from '../../areas.ts';
import { counted } from '../../console/parts/count-text.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { usd } from '../../console/parts/money.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { exact, zoned } from '../../console/parts/time.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { a, div, p } = tags;

type Hour = ReplyOf<Rows['readBudgetUsage']>[number];
type Period = { readonly start?: string | undefined; readonly end?: string | undefined };

const HOUR_MS = 3_600_000;
/** The maximum number of hours that the API returns. */
const MAX_HOURS = 168;

/**
 * Returns the times for which the hours of a budget are requested. If a period has more hours than the API returns, its
 * last hours are requested, and `isClipped` is true.
 */
export const budgetTimes = (
  { start, end }: Period,
  now: number,
): { readonly from?: string | undefined; readonly to: string; readonly isClipped: boolean } => {
  const last = Math.min(end === undefined ? now : Date.parse(end), now);
  if (Number.isNaN(last)) return { from: start, to: end!, isClipped: false };
  const earliest = (Math.ceil(last / HOUR_MS) - MAX_HOURS) * HOUR_MS;
  const isClipped = start !== undefined && Date.parse(start) < earliest;
  return { from: isClipped ? new Date(earliest).toISOString() : start, to: new Date(last).toISOString(), isClipped };
};

/** Links to the event of the first reservation that was refused in an hour. */
const refusedReservations = ({ refused, refused_event_id }: Hour, visit: Visit): Child =>
  refused_event_id === null || !visit.may('tenant:audit:read')
    ? `${refused} refused`
    : a({ href: tenantPath(visit.params.tenant_id!, `/events/${refused_event_id}`) }, `${refused} refused`);

const refusedOf = (hour: Hour, visit: Visit): Child => {
  const { refused, refused_sessions } = hour;
  const sessions = refused_sessions > 0 && `${counted(refused_sessions, 'session')} refused`;
  if (refused === 0) return sessions || '0';
  return [refusedReservations(hour, visit), ' ', sessions && div(null, sessions)];
};

const hourTable = (hours: readonly Hour[], visit: Visit): Child =>
  dataTable<Hour>(
    {
      ...{ title: 'Hours', kind: 'budget-hour', nameTitle: 'Hour', id: ({ hour }) => hour, name: ({ hour }) => hour },
      shownName: ({ hour }) => zoned(hour, 'minute'),
      columns: [
        { title: 'Open', look: 'number', cell: ({ open_usd }) => usd(open_usd) },
        { title: 'Settled', look: 'number', cell: ({ settled_usd }) => usd(settled_usd) },
        { title: 'Sessions', look: 'number', cell: ({ sessions_usd }) => usd(sessions_usd) },
        { title: 'Left', look: 'number', cell: ({ left_usd }) => (left_usd === null ? 'no limit' : usd(left_usd)) },
        { title: 'Refused', look: 'number', cell: (hour) => refusedOf(hour, visit) },
      ],
    },
    hours,
  );

/**
 * Renders the hours in which an agent used its budget, and how many reservations were refused, or would have been with
 * the limit in the URL.
 */
export const budgetHours = (hours: readonly Hour[], visit: Visit, period: Period = {}): readonly Child[] => {
  const limit = visit.query.get('limit_usd');
  const refused = hours.reduce((sum, hour) => sum + hour.refused, 0);
  const used = hours.filter((hour) => hour.reserved_usd + hour.sessions_usd + hour.refused + hour.refused_sessions > 0);
  const reservations = counted(refused, 'reservation');
  const hoursText = hours.length === 1 ? 'this hour' : `these ${counted(hours.length, 'hour')}`;
  const said = limit
    ? `At ${usd(Number(limit))} per hour, ${reservations} would have been refused in ${hoursText}.`
    : `${reservations} ${refused === 1 ? 'was' : 'were'} refused in ${hoursText}.`;
  const { isClipped } = budgetTimes(period, Date.now());
  return [
    p({ 'data-hypothesis': '', role: 'status' }, said),
    isClipped && hours[0]
      ? p({ class: 'quiet', 'data-clipped': '' }, `At most ${MAX_HOURS} hours are shown: those since `, exact(hours[0].hour), '.')
      : null,
    used.length === 0 ? p({ class: 'quiet' }, 'The agent has spent and reserved nothing in these hours.') : hourTable(used, visit),
  ];
};
