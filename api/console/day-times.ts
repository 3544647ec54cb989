import type { Answer } from '../http/ask.ts';
import { counted } from './parts/count-text.ts';
import { dataTable } from './parts/data-table.ts';
import { card } from './parts/facts.ts';
import { localTimeOf } from './parts/local-time.ts';
import { nextCursor, pager } from './parts/pager.ts';
import { panel } from './parts/problem-panel.ts';
import { type Occurrence, stateBadge, stateOf } from './parts/schedule-mark.ts';
import { type Child, tags } from './parts/tags.ts';
import { zoned } from './parts/time.ts';
import { tenantPath, type Visit, withQuery } from './visit.ts';

const { a, div, span, p, ul, li, strong } = tags;

const MAX_BUSIEST = 5;

type Job = Pick<Occurrence, 'job_id' | 'agent_id' | 'job_name' | 'job_status'>;

/** Links to the page of a job; a deleted job has none. */
export const jobLink = (visit: Visit, { job_id, agent_id, job_name, job_status }: Job): Child =>
  job_status === 'archived'
    ? span({ class: 'row-name' }, `${job_name} (deleted)`)
    : a(
        { class: 'row-name', title: job_name, href: tenantPath(visit.params.tenant_id!, `/agents/${agent_id}/cron-jobs/${job_id}`) },
        job_name,
      );

const minuteOf = (at: string, zone: string): string => {
  const { date, time } = localTimeOf(at, zone);
  return `${date}T${time.slice(0, 5)}`;
};

/** Returns the minutes in which the most jobs run. Minutes with a single run are left out. */
const busiestOf = (occurrences: readonly Occurrence[], zone: string) => {
  const runs = occurrences.filter(({ decision }) => decision === 'fired');
  const minutes = [...Map.groupBy(runs, ({ due_at }) => minuteOf(due_at, zone)).entries()];
  return minutes
    .filter(([, found]) => found.length > 1)
    .toSorted(([one, a], [other, b]) => b.length - a.length || (one < other ? -1 : 1))
    .slice(0, MAX_BUSIEST);
};

const busiest = (occurrences: readonly Occurrence[], zone: string) => {
  const minutes = busiestOf(occurrences, zone);
  return card(
    'Busiest minutes',
    minutes.length === 0
      ? p({ class: 'quiet' }, 'No two jobs run in the same minute.')
      : ul(
          null,
          ...minutes.map(([minute, found]) =>
            li(
              { 'data-busy': minute },
              strong(null, minute.replace('T', ' ')),
              ` ${counted(found.length, 'run')} of ${counted(new Set(found.map(({ agent_id }) => agent_id)).size, 'agent')}`,
            ),
          ),
        ),
  );
};

const timeTable = (visit: Visit, occurrences: readonly Occurrence[], agentName: (id: string) => string) =>
  card(
    'Due times of the day',
    dataTable<Occurrence>(
      {
        ...{ title: 'Due times', kind: 'cron-occurrence', nameTitle: 'Job', id: ({ occurrence_id }) => occurrence_id },
        name: ({ job_name, job_status }) => (job_status === 'archived' ? `${job_name} (deleted)` : job_name),
        href: ({ job_id, agent_id, job_status }) =>
          job_status === 'archived' ? null : tenantPath(visit.params.tenant_id!, `/agents/${agent_id}/cron-jobs/${job_id}`),
        details: ({ agent_id }) => agentName(agent_id),
        columns: [
          { title: 'Decision', look: 'state', cell: stateBadge },
          { title: 'Due', cell: ({ due_at }) => zoned(due_at, 'minute') },
        ],
        attributes: (occurrence) => ({ 'data-state': stateOf(occurrence), 'data-due': occurrence.due_at }),
      },
      occurrences,
    ),
  );

/** Says how far a page of due times goes. It can be empty although others follow: the API examines only so many for a page. */
const cutText = (found: readonly Occurrence[]): Child => {
  const last = found.at(-1);
  return last
    ? ['Only the due times up to ', zoned(last.due_at, 'minute'), ' are shown.']
    : 'The first due times do not match. There are later ones.';
};

/** The due times of a day one by one, and the minutes in which the most jobs run. */
export const timesOfDay = (visit: Visit, answer: Answer<readonly Occurrence[]>, agentName: (id: string) => string): Child =>
  panel(answer, (found) => {
    const isCut = nextCursor(answer) !== null;
    const isFirst = !visit.query.has('times');
    if (found.length === 0 && !isCut) return null;
    return div(
      { class: 'below' },
      // Of a part of the day, the busiest minutes are not known.
      isFirst && !isCut ? busiest(found, visit.zone) : null,
      isCut ? p({ role: 'status', 'data-cut': '' }, cutText(found)) : null,
      found.length === 0 ? null : div({ class: 'below' }, timeTable(visit, found, agentName)),
      pager(answer, isFirst, (times) => withQuery(visit, { times }), { first: 'Earliest', next: 'Later' }),
    );
  });
