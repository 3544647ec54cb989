import type { Rows } from '../../areas.ts';
import { badge } from '../../console/parts/badge.ts';
import { counted, countText } from '../../console/parts/count-text.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago, duration } from '../../console/parts/time.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { div, p, progress, span } = tags;

export type Projection = ReplyOf<Rows['listProjections']>[number];
export type Rebuild = ReplyOf<Rows['readRebuild']>;

export const PROJECTIONS = '/console/platform/projections';

export const DRIFT = '/console/platform/drift';

/** Returns the path of a projection's page. `rest` selects a page below it. */
export const projectionPath = (name: string, rest = ''): string => `${PROJECTIONS}/${encodeURIComponent(name)}${rest}`;

/** Returns how far a projection is behind the log, in events and in time. */
export const lagText = ({ lag_events, lag_seconds }: Pick<Projection, 'lag_events' | 'lag_seconds'>): string =>
  lag_events === 0 ? 'up to date' : `${counted(lag_events, 'event')}, ${duration(lag_seconds * 1_000)}`;

/** Formats a number of events per second. */
export const rateText = (perSecond: number): string =>
  `${perSecond.toLocaleString('en-US', { maximumFractionDigits: perSecond < 10 ? 1 : 0 })}/s`;

/** Returns the name of the operator who requested, promoted or aborted a rebuild. */
export const operatorName = (operator: Rebuild['requested_by']): string => operator?.name ?? operator?.id ?? 'somebody';

/** Returns a sentence that says how the rows of a rebuild differ from the live rows. */
export const comparisonText = ({ state, comparison }: Rebuild): string => {
  if (comparison === null) return state === 'ready' ? 'The tables have changed, so the rows cannot be compared.' : 'Not compared.';
  const { rows, differing } = comparison;
  if (differing === 0) return rows === 1 ? 'The only row is equal.' : `All ${counted(rows, 'row')} are equal.`;
  return `${countText(differing)} of ${counted(rows, 'row')} ${differing === 1 ? 'differs' : 'differ'}.`;
};

/** Renders the progress of a running rebuild and its speed. While it is shown, the page is fetched more often. */
export const rebuildProgress = ({ state, events, total, events_per_second, eta_seconds }: Rebuild): Child => {
  if (state !== 'running') return null;
  if (events === null || total === null)
    return p({ class: 'quiet', 'data-running': '' }, 'It waits for the worker that writes the projection.');
  const left = eta_seconds === null ? 'the time left is not known yet' : `${duration(eta_seconds * 1_000)} left`;
  const rate = events_per_second === null ? '' : ` · ${rateText(events_per_second)}`;
  return div(
    { class: 'overlap', 'data-running': '' },
    progress({ max: Math.max(1, total), value: events, 'aria-label': 'Progress of the rebuild' }),
    p({ class: 'quiet' }, `${countText(events)} of about ${counted(total, 'event')}${rate} · ${left}`),
  );
};

const endOf = ({ ended_at, decided_by }: Rebuild): Child => {
  if (ended_at === null) return span({ class: 'quiet' }, 'open');
  return decided_by ? [ago(ended_at), ' ', div({ class: 'quiet' }, `by ${operatorName(decided_by)}`)] : ago(ended_at);
};

/**
 * Renders a table of the rebuilds of a projection: who requested each, how its rows differed from the live rows, and
 * how it ended.
 */
export const rebuildTable = (rebuilds: readonly Rebuild[]): Child =>
  dataTable<Rebuild>(
    {
      ...{ title: 'Rebuilds', kind: 'rebuild', nameTitle: 'Rebuild', id: ({ id }) => id, name: ({ id }) => `Rebuild ${id}` },
      href: ({ id, projection }) => projectionPath(projection, `/rebuilds/${id}`),
      details: (rebuild) => [comparisonText(rebuild), rebuild.reason === null ? null : div(null, `“${rebuild.reason}”`)],
      columns: [
        { title: 'State', look: 'state', cell: ({ state }) => badge(state) },
        {
          ...{ title: 'Requested', look: 'number' },
          cell: ({ requested_at, requested_by }) => [ago(requested_at), ' ', div({ class: 'quiet' }, `by ${operatorName(requested_by)}`)],
        },
        { title: 'Ended', look: 'number', cell: endOf },
      ],
    },
    rebuilds,
  );
