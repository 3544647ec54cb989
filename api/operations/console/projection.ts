import type { Rows } from '../../areas.ts';
import { actionButton, formLink } from '../../console/action.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { counted } from '../../console/parts/count-text.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { card, facts } from '../../console/parts/facts.ts';
import { heading } from '../../console/parts/heading.ts';
import { panel, problemPanel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import type { Visit } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';
import {
  comparisonText,
  DRIFT,
  lagText,
  PROJECTIONS,
  type Projection,
  projectionPath,
  type Rebuild,
  rateText,
  rebuildProgress,
  rebuildTable,
} from './rebuilds.ts';

const { a, aside, code, div, p, span } = tags;

type Parked = ReplyOf<Rows['listParkedEvents']>[number];

const factsOf = (projection: Projection) => {
  const { version, position, head, writer, last_error, events_per_second, parked } = projection;
  return facts({
    Version: String(version),
    Position: code(null, position ?? '—'),
    Head: code(null, head ?? '—'),
    Behind: lagText(projection),
    Rate: rateText(events_per_second),
    Writer: writer ?? 'none',
    Parked: parked === 0 ? 'nothing' : counted(parked, 'stream'),
    'Last error': last_error,
  });
};

/**
 * Returns the buttons with which an operator promotes or aborts a rebuild. The list is empty if the rebuild has ended.
 */
export const decisionButtons = (visit: Visit, { id, projection: name, state }: Rebuild): readonly Child[] => {
  if (state !== 'running' && state !== 'ready') return [];
  const target = { name, rebuild: id };
  const { rows } = visit;
  const next = projectionPath(name);
  return [
    state === 'ready' ? formLink(visit, rows.promoteRebuild, target, 'Promote', { icon: 'check', look: 'primary', next }) : null,
    actionButton(visit, rows.abortRebuild, target, 'Abort', {
      look: 'danger',
      next,
      confirm: 'The rebuilt rows are dropped. The live rows stay as they are.',
    }),
  ];
};

/**
 * Renders the result of the last comparison with the log. It starts no comparison, because the page refreshes itself.
 */
const driftCard = (name: string, drift: Projection['drift']): Child =>
  card(
    'Drift',
    drift === null
      ? p({ class: 'quiet' }, 'Its rows have not been compared with the log yet.')
      : facts({
          'Last sample': ago(drift.at),
          Compared: counted(drift.sampled, 'row'),
          Differed: counted(drift.differing, 'row'),
          'First event': drift.first_diverging_event === null ? null : code(null, drift.first_diverging_event),
        }),
    p(null, a({ class: 'button small', href: `${DRIFT}?projection=${encodeURIComponent(name)}` }, 'Compare rows with the log')),
  );

const openRebuild = (visit: Visit, rebuild: Rebuild, live: Projection | undefined): Child =>
  card(
    'Rebuild in progress',
    div(
      { class: 'stack', 'data-kind': 'rebuild', 'data-id': rebuild.id },
      p(null, badge(rebuild.state), ' ', rebuild.state === 'ready' ? comparisonText(rebuild) : 'The live rows stay in use meanwhile.'),
      rebuildProgress(rebuild),
      live ? p({ class: 'quiet' }, `The live projection: ${lagText(live)}, ${rateText(live.events_per_second)}.`) : null,
      (rebuild.comparison?.differing ?? 0) > 0
        ? p(null, a({ href: projectionPath(rebuild.projection, `/rebuilds/${rebuild.id}`) }, 'Show the rows that differ'))
        : null,
      div({ class: 'actions' }, ...decisionButtons(visit, rebuild)),
    ),
  );

const streamOf = ({ key }: Parked): string => key.slice(0, key.lastIndexOf('@'));

type ParkedStream = { readonly stream: string; readonly first: Parked; readonly later: number };

const laterText = (later: number): string => `${counted(later, 'later event')} of this stream wait${later === 1 ? 's' : ''} for it.`;

const parkedTable = (visit: Visit, parked: readonly Parked[]): Child => {
  const streams = [...Map.groupBy(parked, streamOf)].map(
    ([stream, [first, ...followers]]): ParkedStream => ({ stream, first: first!, later: followers.length }),
  );
  if (streams.length === 0) return p({ class: 'quiet' }, 'It has applied every event that it has read.');
  const retryButton = ({ first: { projection, event_id } }: ParkedStream): Child =>
    actionButton(visit, visit.rows.retryParkedEvent, { name: projection, event: event_id }, 'Retry', { look: 'small', next: visit.path });
  return dataTable<ParkedStream>(
    {
      ...{ title: 'Parked events', kind: 'parked-event', nameTitle: 'Event', id: ({ first }) => first.id, name: ({ stream }) => stream },
      shownName: ({ stream, first }) => code({ title: first.key }, stream),
      details: ({ first, later }) => [first.error, later === 0 ? null : div(null, laterText(later))],
      columns: [
        { title: 'Attempts', look: 'number', cell: ({ first }) => String(first.attempts) },
        { title: 'Parked', look: 'number', cell: ({ first }) => ago(first.parked_at) },
        { title: 'Action', look: 'number', cell: retryButton },
      ],
      attributes: ({ first }) => ({ 'data-position': first.position }),
    },
    streams,
  );
};

/** The page of a projection: how far it has read the log, its rebuilds, and the events that it could not apply. */
export const projectionPage = page({
  path: `${PROJECTIONS}/:name`,
  permit: 'platform',
  nav: 'Projections',
  polls: true,
  asks: ({ ask, rows, params }) => {
    const name = params.name!;
    return {
      rebuilds: ask(rows.listRebuilds, { name }),
      projections: ask(rows.listProjections, {}),
      parked: ask(rows.listParkedEvents, { name }),
    };
  },
  title: (_, { params }) => params.name!,
  trail: () => [['Projections', PROJECTIONS]],
  view: ({ rebuilds, projections, parked }, visit) => {
    const name = visit.params.name!;
    if (!rebuilds.ok) return [heading(name, null), problemPanel(rebuilds.problem)];
    const status = projections.ok ? projections.value.find((one) => one.name === name) : undefined;
    const open = rebuilds.value.find(({ ended_at }) => ended_at === null);
    const rebuild = actionButton(visit, visit.rows.rebuildProjection, { name }, 'Rebuild', {
      icon: 'refresh-cw',
      look: 'primary',
      next: projectionPath(name),
      confirm: 'Its rows are made again from the log, beside the live ones. Nothing changes until you promote them.',
    });
    return [
      div(
        { 'data-kind': 'projection', 'data-id': name, 'data-position': status?.position ?? null },
        heading(span(null, name, ' ', status ? badge(status.state) : null), status?.last_error ?? null, open ? null : rebuild),
        div(
          { class: 'detail' },
          div(
            { class: 'detail-main' },
            open ? openRebuild(visit, open, status) : null,
            card(
              'Parked events',
              panel(parked, (found) => parkedTable(visit, found)),
            ),
            card(
              'Rebuilds',
              rebuilds.value.length > 0
                ? rebuildTable(rebuilds.value)
                : emptyState({ icon: 'history', title: 'No rebuilds yet', why: 'A rebuild makes the rows again from the log.' }),
            ),
          ),
          aside(
            { class: 'detail-side', 'aria-label': 'Facts' },
            card(
              'Facts',
              panel(projections, () => (status ? factsOf(status) : p({ class: 'quiet' }, 'No worker has reported this projection yet.'))),
            ),
            status ? driftCard(name, status.drift) : null,
          ),
        ),
      ),
    ];
  },
});
