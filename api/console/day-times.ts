import type { Answer } from '../http/ask.ts';
import { MAX_PREVIEWED_JOBS } from '../schedule/cron-occurrences.ts';
import { counted } from './parts/count-text.ts';
import { dataTable } from './parts/data-table.ts';
import type { JobRuns } from './parts/day-runs.ts';
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

const nameOf = ({ job_name, job_status }: Job): string => (job_status === 'archived' ? `${job_name} (deleted)` : job_name);

/** Returns the URL of the page of a job; a deleted job has none. */
const hrefOf = (visit: Visit, { job_id, agent_id, job_status }: Job): string | null =>
  job_status === 'archived' ? null : tenantPath(visit.params.tenant_id!, `/agents/${agent_id}/cron-jobs/${job_id}`);

export const jobLink = (visit: Visit, job: Job): Child => {
  const [title, href] = [nameOf(job), hrefOf(visit, job)];
  return href === null ? span({ class: 'row-name', title }, title) : a({ class: 'row-name', title, href }, title);
};

const minuteOf = (at: string, zone: string): string => {
  const { date, time } = localTimeOf(at, zone);
  return `${date}T${time.slice(0, 5)}`;
};

/**
 * Returns the minutes in which the most jobs run. Minutes with a single run are left out. They are those of UTC, because
 * clocks that go back show a local minute twice.
 */
export const busiestOf = (occurrences: readonly Occurrence[], zone: string): readonly (readonly [minute: string, Occurrence[]])[] => {
  const runs = occurrences.filter(({ decision }) => decision === 'fired');
  return [...Map.groupBy(runs, ({ due_at }) => due_at.slice(0, 16))]
    .filter(([, found]) => found.length > 1)
    .toSorted(([one, a], [other, b]) => b.length - a.length || (one < other ? -1 : 1))
    .slice(0, MAX_BUSIEST)
    .map(([, found]) => [minuteOf(found[0]!.due_at, zone), found]);
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
        name: nameOf,
        href: (occurrence) => hrefOf(visit, occurrence),
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

/** Says where a page of due times ends. It can be empty although others follow, because the API examines a limited number for each page. */
const cutText = (found: readonly Occurrence[]): Child => {
  const last = found.at(-1);
  return last
    ? ['Only the due times up to ', zoned(last.due_at, 'minute'), ' are shown.']
    : 'The first due times do not match. There are later ones.';
};

/** Whether all due times of the jobs in the calendar are among these, which are all that the API lists. */
export const isComplete = (occurrences: readonly Occurrence[], jobs: readonly JobRuns[]): boolean => {
  const listed = Map.groupBy(occurrences, ({ job_id }) => job_id);
  const predicted = new Set(occurrences.filter((one) => one.predicted).map(({ job_id }) => job_id));
  return predicted.size < MAX_PREVIEWED_JOBS && jobs.every(({ job_id, due }) => due <= (listed.get(job_id)?.length ?? 0));
};

type DayParts = { readonly jobs: readonly JobRuns[]; readonly agentName: (id: string) => string };

/** The due times of a day one by one, and the minutes in which the most jobs run. `jobs` are those of the calendar. */
export const timesOfDay = (visit: Visit, answer: Answer<readonly Occurrence[]>, { jobs, agentName }: DayParts): Child =>
  panel(answer, (found) => {
    const isCut = nextCursor(answer) !== null;
    const isFirst = !visit.query.has('times');
    const lacksSome = isFirst && !isCut && !isComplete(found, jobs);
    const lacking = lacksSome
      ? p(
          { role: 'status', 'data-incomplete': '' },
          `Due times are missing here: later ones are listed of ${MAX_PREVIEWED_JOBS} jobs only.`,
        )
      : null;
    if (found.length === 0 && !isCut) return lacking;
    return div(
      { class: 'below' },
      // The busiest minutes are known only if the list has all runs of the whole day.
      isFirst && !isCut && !lacksSome && !visit.query.get('decision') ? busiest(found, visit.zone) : null,
      lacking,
      isCut ? p({ role: 'status', 'data-cut': '' }, cutText(found)) : null,
      found.length === 0 ? null : div({ class: 'below' }, timeTable(visit, found, agentName)),
      pager(answer, isFirst, (times) => withQuery(visit, { times }), { first: 'Earliest', next: 'Later' }),
    );
  });
