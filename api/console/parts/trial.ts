import type { ReplyOf } from '../../http/ask.ts';
import type { tryGuardrailsOperationOf } from '../../webhooks/try-guardrails.ts';
import { badge } from './badge.ts';
import { counted, countText } from './count-text.ts';
import { emptyState } from './empty-state.ts';
import { card } from './facts.ts';
import { payloadPreview } from './payload-preview.ts';
import { tableOf } from './table.ts';
import { type Child, tags } from './tags.ts';
import { ago } from './time.ts';

const { a, div, p, span, strong, tr, td, details, summary, ul, li } = tags;

type Trial = ReplyOf<ReturnType<typeof tryGuardrailsOperationOf>['tryGuardrails']>;
type Row = Trial[number];

const isBlocked = (verdict: Row['verdict_now']): boolean => verdict === 'block';

/** Whether the tried rules block a delivery that was accepted, or accept one that was blocked. */
const isChanged = ({ verdict_now, verdict_then }: Row): boolean =>
  verdict_now !== null && isBlocked(verdict_now) !== isBlocked(verdict_then);

const countsOf = (rows: Trial) => ({
  block: rows.filter((row) => isChanged(row) && isBlocked(row.verdict_now)).length,
  pass: rows.filter((row) => isChanged(row) && isBlocked(row.verdict_then)).length,
  redactions: rows.reduce((sum, { redactions }) => sum + redactions, 0),
  untried: rows.filter(({ verdict_now }) => verdict_now === null).length,
});

const STATES = { pass: 'accepted', label: 'active', redact: 'paused', hold: 'held', block: 'blocked' } as const;

const verdictBadge = (verdict: Row['verdict_now']) =>
  verdict === null ? span({ class: 'quiet' }, 'not tried') : badge(STATES[verdict], verdict);

const rowView = (row: Row, tenant_id: string) =>
  tr(
    { 'data-kind': 'trial-row', 'data-id': row.delivery_id, 'data-now': row.verdict_now ?? '', 'data-then': row.verdict_then },
    td(
      { class: 'main-cell' },
      a(
        { href: `/console/t/${tenant_id}/deliveries/${row.delivery_id}`, class: 'row-link' },
        span({ class: 'event' }, row.event ?? 'unknown event'),
        ' ',
        payloadPreview(row.preview),
      ),
      div({ class: 'quiet' }, row.provider, row.rule === null ? '' : ` · by ${row.rule}`, ' · ', ago(row.received_at)),
    ),
    td({ class: 'state-cell' }, verdictBadge(row.verdict_then)),
    td({ class: 'state-cell' }, verdictBadge(row.verdict_now)),
    td({ class: 'number wide-only' }, String(row.redactions)),
    td({ class: 'number wide-only' }, `${countText(row.microseconds)} µs`),
  );

const rowTable = (title: string, rows: Trial, tenant_id: string) =>
  tableOf(
    title,
    [['Delivery'], ['Then'], ['Now'], ['Redactions', 'number wide-only'], ['Time', 'number wide-only']],
    rows.map((row) => rowView(row, tenant_id)),
  );

/** Lists the rules by the time that they took, slowest first. */
const ruleTimes = (rows: Trial) => {
  const byRule = [
    ...Map.groupBy(
      rows.flatMap(({ times }) => times),
      ({ rule }) => rule,
    ),
  ].map(([rule, times]) => {
    const all = times.map(({ microseconds }) => microseconds);
    return { rule, evaluated: all.length, total: all.reduce((sum, one) => sum + one, 0), most: Math.max(...all) };
  });
  return tableOf(
    'Time per rule',
    [['Rule'], ['Evaluated', 'number'], ['Mean', 'number'], ['Longest', 'number wide-only']],
    byRule
      .toSorted((one, other) => other.total - one.total)
      .map(({ rule, evaluated, total, most }) =>
        tr(
          { 'data-kind': 'rule-time', 'data-id': rule },
          td({ class: 'main-cell' }, rule),
          td({ class: 'number' }, countText(evaluated)),
          td({ class: 'number' }, `${countText(Math.round(total / evaluated))} µs`),
          td({ class: 'number wide-only' }, `${countText(most)} µs`),
        ),
      ),
  );
};

/** Renders the result of a trial of guardrails: what would change, the deliveries, and the time that the rules took. */
export const trialView = (rows: Trial, tenant_id: string): Child => {
  if (rows.length === 0)
    return emptyState({ icon: 'inbox', title: 'Nothing to try', why: 'No verified delivery was received in this period.' });
  const { block, pass, redactions, untried } = countsOf(rows);
  const changed = rows.filter(isChanged);
  const others = rows.filter((row) => !isChanged(row));
  return card(
    'Trial',
    div(
      { role: 'status', 'data-trial': '' },
      p(null, strong(null, `${counted(rows.length, 'delivery')} tried`), '. Nothing was recorded. These rules'),
      ul(
        { class: 'trial-counts' },
        li(null, `would block ${block} (were accepted)`),
        li(null, `would pass ${pass} (were blocked)`),
        li(null, `would redact ${counted(redactions, 'hit')}`),
        untried > 0 ? li(null, `were not tried on ${untried}: too large, or the trial took too long`) : null,
      ),
    ),
    changed.length > 0 ? div({ class: 'below' }, rowTable('Deliveries that would change', changed, tenant_id)) : null,
    others.length > 0
      ? details(
          { class: 'below', open: changed.length === 0 },
          summary(null, `${counted(others.length, 'delivery')} that would not change`),
          rowTable('Other deliveries', others, tenant_id),
        )
      : null,
    rows.some(({ times }) => times.length > 0) ? div({ class: 'below' }, ruleTimes(rows)) : null,
  );
};
