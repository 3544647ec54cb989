import { icon } from './parts/icon.ts';
import { type Child, element, tags } from './parts/tags.ts';
import { absoluteTime, fieldTime, zoned } from './parts/time.ts';
import { comparePlaces, isPosition } from './past-time.ts';
import { type Visit, withQuery } from './visit.ts';

const { div, form, input, label, button, a, details, summary, strong, span, p } = tags;

/** An event at which the time slider of a page can stop. */
export type Tick = { readonly position: string; readonly at: string; readonly name: string };

const MAX_TICKS = 100;

/**
 * Reads the events for the time slider of a page, newest first. They are those of the page's agent or, without an
 * agent, those of the tenant. Empty if the visitor may not read them.
 */
export const readTicks = async ({ ask, rows, params, may }: Visit): Promise<readonly Tick[]> => {
  const { tenant_id, agent_id } = params;
  if (!tenant_id) return [];
  if (agent_id) {
    const history = await ask(rows.readAgentHistory, { tenant_id, agent_id, limit: MAX_TICKS } as never);
    return history.ok ? history.value.map(({ position, at, type }) => ({ position, at, name: type })) : [];
  }
  if (!may('tenant:audit:read')) return [];
  const entries = await ask(rows.listAuditLogs, { tenant_id, limit: MAX_TICKS } as never);
  if (!entries.ok) return [];
  return (entries.value as readonly { position: string; at?: string; created_at?: string; summary?: string }[]).map((entry) => ({
    position: entry.position,
    at: entry.at ?? entry.created_at ?? '',
    name: entry.summary ?? '',
  }));
};

/**
 * Returns the index of the newest event that is not later than `asOf`, a time or a position. If all events are later,
 * returns their number.
 */
export const indexAt = (ticks: readonly Tick[], asOf: string): number => {
  const isThen = ({ position, at }: Tick) => (isPosition(asOf) ? comparePlaces(position, asOf) <= 0 : Date.parse(at) <= Date.parse(asOf));
  const found = ticks.findIndex(isThen);
  return found === -1 ? ticks.length : found;
};

/** The data for the bar at the top of a page that shows a time in the past. */
export type Past = {
  readonly asOf: string;
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
      spellcheck: 'false',
      'aria-invalid': message === null ? null : 'true',
      'aria-describedby': message === null ? null : 'as-of-error',
    } as never),
    button({ class: 'small' }, 'Go'),
    message === null ? null : p({ class: 'field-error', id: 'as-of-error', role: 'alert' }, message),
  );

/** Renders the control at the top of a tenant's page with which visitors go to a time in the past. */
export const timeEntry = (visit: Visit, message: string | null = null): Child =>
  details(
    { class: 'time-entry', open: message !== null },
    summary({ class: 'button ghost small', title: 'This page shows the present. Go back in time' }, icon('history'), span(null, 'Now')),
    div(
      { class: 'time-panel' },
      p(
        { class: 'quiet' },
        `Show this page as it was. A time in ${visit.zone}, such as yesterday 9:00 or 2 hours ago, or a position of the log.`,
      ),
      field(visit, message === null ? '' : (visit.query.get('as_of') ?? ''), message),
      a(
        { class: 'button small', href: withQuery(visit, { as_of: 'back' }), 'data-hotkey': '[', 'data-now': '' },
        icon('arrow-left'),
        'One event back',
      ),
    ),
  );

const stepLink = (visit: Visit, to: Tick | null | undefined, hotkey: string, name: string) =>
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

const slider = (visit: Visit, ticks: readonly Tick[], index: number): Child => {
  const oldestFirst = ticks.toReversed();
  if (oldestFirst.length < 2) return null;
  const value = Math.max(0, oldestFirst.length - 1 - index);
  const data = JSON.stringify(oldestFirst.map(({ position, name }) => [position, name]));
  const range = input({ type: 'range', min: 0, max: oldestFirst.length - 1, value, 'aria-label': 'Event of this page' } as never);
  return element('time-slider', { 'data-ticks': data, 'data-url': withQuery(visit, { as_of: null, cursor: null }) }, range);
};

const shownTime = (asOf: string, at: Tick | undefined): Child => (isPosition(asOf) ? (at ? zoned(at.at) : 'a position') : zoned(asOf));

/**
 * Renders the bar of a page of the past. It shows the time of the page, the controls to go to other times, and which
 * parts of the page show the present.
 */
export const timeStrip = (visit: Visit, { asOf, ticks, present }: Past): Child => {
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
  const events =
    index === 0 || ticks.length === 0
      ? 'no event since'
      : `${index}${index === ticks.length ? ' or more' : ''} ${index === 1 ? 'event' : 'events'} ago`;
  return div(
    { class: 'time-strip', role: 'status', 'data-as-of': asOf },
    span(null, icon('history'), ' As of ', strong(null, shownTime(asOf, ticks[index])), span({ class: 'quiet' }, ` · ${events}`)),
    div(
      { class: 'row' },
      stepLink(visit, ticks[index + 1], '[', 'One event back'),
      slider(visit, ticks, index),
      stepLink(visit, later, ']', 'One event forth'),
    ),
    field(visit, asOf, null),
    compare,
    a({ class: 'button small', href: withQuery(visit, { as_of: null, cursor: null }), 'data-hotkey': 'n', 'data-now': '' }, 'Now'),
    present.length === 0 ? null : p({ class: 'quiet' }, `As it is now, because it has no past here: ${present.join(' · ')}.`),
  );
};
