import { nounOf } from '../http/counted.ts';
import { wordsOf } from './parts/history.ts';
import { icon } from './parts/icon.ts';
import { type Child, element, type Node, tags } from './parts/tags.ts';
import { absoluteTime, fieldTime, zoned } from './parts/time.ts';
import { comparePlaces, isPosition } from './past-time.ts';
import { type Visit, withQuery } from './visit.ts';

const { div, form, input, label, button, a, details, summary, section, strong, span, p } = tags;

/**
 * A time at which the slider of a page can stop: usually that of an event. `position` is its position in the log; for a
 * stop at which no event is known, it is the time.
 */
export type Tick = { readonly position: string; readonly at: string; readonly name: string };

const MAX_TICKS = 100;
const PLAIN_TICKS = 120;
const PLAIN_STEP_MS = 6 * 3_600_000;

/** Returns stops at regular times, for visitors who may not read the events of a page. */
const plainTicks = (now: number): readonly Tick[] =>
  Array.from({ length: PLAIN_TICKS }, (_, index) => {
    const at = new Date(now - index * PLAIN_STEP_MS).toISOString();
    return { position: at, at, name: index === 0 ? 'Now' : '' };
  });

/** Returns the id of the resource of a page that is neither an agent nor a list. */
const resourceOf = ({ job_id, session_id, delivery_id, integration_id }: Visit['params']): string | undefined =>
  job_id ?? session_id ?? delivery_id ?? integration_id;

/**
 * Reads the stops of the slider of a page, newest first. They are the events of the page's resource or, on a list, those
 * of the tenant. If the visitor may not read the events, or there are none, the slider has stops at regular times.
 */
export const readTicks = async ({ ask, rows, params, may }: Visit): Promise<readonly Tick[]> => {
  const { tenant_id, agent_id } = params;
  if (!tenant_id) return [];
  const resource_id = resourceOf(params);
  if (agent_id && !resource_id) {
    const history = await ask(rows.readAgentHistory, { tenant_id, agent_id, limit: MAX_TICKS });
    if (history.ok) return history.value.map(({ position, at, type }) => ({ position, at, name: wordsOf(type) }));
  }
  const entries = may('tenant:audit:read')
    ? await ask(rows.listAuditLogs, { tenant_id, limit: MAX_TICKS, ...(resource_id ? { resource_id } : {}) })
    : null;
  if (!entries?.ok || entries.value.length === 0) return plainTicks(Date.now());
  return entries.value.map(({ position, created_at, summary: name }) => ({ position, at: created_at, name }));
};

/**
 * Returns the index of the newest event that is not later than `asOf`, a time or a position. If all events are later,
 * returns their number.
 */
export const indexAt = (ticks: readonly Tick[], asOf: string): number => {
  const isThen = ({ position, at }: Tick) =>
    isPosition(asOf) ? isPosition(position) && comparePlaces(position, asOf) <= 0 : Date.parse(at) <= Date.parse(asOf);
  const found = ticks.findIndex(isThen);
  return found === -1 ? ticks.length : found;
};

/** The contents of the time machine of a page that shows the past. */
export type Past = {
  readonly asOf: string;
  /** The position of the log whose state the page shows; null if it is not known. */
  readonly position: string | null;
  readonly ticks: readonly Tick[];
  /**
   * The titles of the API operations on this page that cannot be read as of a past time, and therefore returned the
   * present state.
   */
  readonly present: readonly string[];
};

const kept = ({ query }: Visit): readonly Child[] =>
  [...query]
    .filter(([name]) => !['as_of', 'after', 'cursor'].includes(name))
    .map(([name, value]) => input({ type: 'hidden', name, value }));

const field = (visit: Visit, value: string, message: string | null) =>
  form(
    { method: 'get', action: visit.path, class: 'time-form', 'data-now': '' },
    ...kept(visit),
    label({ for: 'as-of', class: 'hidden' }, `Time in ${visit.zone}`),
    input({
      id: 'as-of',
      name: 'as_of',
      value: fieldTime(value),
      placeholder: 'yesterday 9:00',
      autocomplete: 'off',
      spellcheck: false,
      'aria-invalid': message === null ? null : 'true',
      'aria-describedby': message === null ? null : 'as-of-error',
    }),
    button({ class: 'small' }, 'Go'),
    message === null ? null : p({ class: 'field-error', id: 'as-of-error', role: 'alert' }, message),
  );

const stepLink = (visit: Visit, to: Tick | null | undefined, hotkey: '[' | ']', name: string) =>
  to === undefined
    ? null
    : a(
        {
          class: 'button small',
          href: withQuery(visit, { as_of: to?.position ?? null, cursor: null }),
          'data-hotkey': hotkey,
          'data-now': '',
          title: to === null ? 'The present' : `${to.name}, ${absoluteTime(to.at, visit.zone)}`,
        },
        icon(hotkey === '[' ? 'arrow-left' : 'arrow-right'),
        span({ class: 'hidden' }, name),
      );

const BACK = 'One event back';

/**
 * Renders the slider over the stops of a page. `index` is the current stop, counted from the newest. A slider without
 * stops asks the page for them when it becomes visible.
 */
export const timeSlider = (visit: Visit, ticks: readonly Tick[], index = 0): Node => {
  const oldestFirst = ticks.toReversed();
  const stops = oldestFirst.map(({ position, at, name }) => [position, `${name ? `${name}, ` : ''}${absoluteTime(at, visit.zone)}`]);
  const url = withQuery(visit, { as_of: null, cursor: null });
  const max = oldestFirst.length - 1;
  const range = { type: 'range', min: 0, max, value: Math.max(0, max - index), 'aria-label': 'Time of this page' };
  return element('time-slider', { id: 'time-slider', 'data-ticks': JSON.stringify(stops), 'data-url': url }, max < 1 ? null : input(range));
};

/** Renders the time machine of a page of the present. `message` says what is wrong with the time in the URL. */
export const presentTime = (visit: Visit, message: string | null = null): Child =>
  details(
    { id: 'time', class: 'time', open: message !== null },
    summary({ class: 'button ghost small', title: 'This page shows the present. Go back in time' }, icon('history'), span(null, 'Now')),
    section(
      { class: 'time-panel', 'aria-label': 'Time of this page' },
      p({ class: 'quiet' }, 'This page shows the present.'),
      div(
        { class: 'row' },
        a(
          { class: 'button small', href: withQuery(visit, { as_of: 'back' }), 'data-hotkey': '[', 'data-now': '', title: BACK },
          icon('arrow-left'),
          span({ class: 'hidden' }, BACK),
        ),
        timeSlider(visit, []),
      ),
      field(visit, message === null ? '' : (visit.query.get('as_of') ?? ''), message),
      p({ class: 'quiet' }, `A time in ${visit.zone}, such as yesterday 9:00 or 2 hours ago, or a position of the log.`),
    ),
  );

const shownTime = (asOf: string, at: Tick | undefined): Child => (isPosition(asOf) ? (at ? zoned(at.at) : 'a position') : zoned(asOf));

const distance = (ticks: readonly Tick[], index: number): string => {
  if (ticks[0] && !isPosition(ticks[0].position)) return '';
  if (index === 0 || ticks.length === 0) return ' · no event since';
  return ` · ${index}${index === ticks.length ? ' or more' : ''} ${nounOf(index, 'event')} ago`;
};

/**
 * Renders the time machine of a page that shows the past. It shows the time of the page, the controls to go to other times, and
 * which parts of the page show the present.
 */
export const pastTimeStrip = (visit: Visit, { asOf, position, ticks, present }: Past): Child => {
  const index = indexAt(ticks, asOf);
  const later = index === 0 ? undefined : index === 1 ? null : ticks[index - 1];
  const { tenant_id, agent_id } = visit.params;
  const compare = agent_id
    ? a(
        {
          class: 'button small',
          href: `/console/t/${tenant_id}/agents/${agent_id}/compare?from=${encodeURIComponent(asOf)}`,
          'data-now': '',
        },
        'Compare and restore',
      )
    : null;
  const place = isPosition(asOf) ? asOf : position;
  return details(
    { id: 'time', class: 'time', open: true, 'data-as-of': asOf },
    summary({ class: 'button ghost small' }, 'Time'),
    section(
      { class: 'time-panel', 'aria-label': 'Time of this page' },
      p(
        { role: 'status' },
        icon('history'),
        ' As of ',
        strong(null, shownTime(asOf, ticks[index])),
        span({ class: 'quiet' }, place === null ? '' : `, position ${place}`, distance(ticks, index)),
      ),
      div(
        { class: 'row' },
        stepLink(visit, ticks[index + 1], '[', BACK),
        timeSlider(visit, ticks, index),
        stepLink(visit, later, ']', 'One event forth'),
      ),
      field(visit, asOf, null),
      compare,
      a({ class: 'button small', href: withQuery(visit, { as_of: null, cursor: null }), 'data-hotkey': 'n', 'data-now': '' }, 'Now'),
      present.length === 0 ? null : p({ class: 'quiet' }, `As it is now, because it has no past here: ${present.join(' · ')}.`),
    ),
  );
};
