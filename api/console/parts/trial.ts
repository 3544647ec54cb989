import type { tryGuardrailsOperationOf } from '../../guardrails/try-guardrails.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { badge } from './badge.ts';
import { counted, countText } from './count-text.ts';
import { dataTable } from './data-table.ts';
import { emptyState } from './empty-state.ts';
import { card } from './facts.ts';
import { payloadPreview } from './payload-preview.ts';
import { type Child, tags } from './tags.ts';
import { ago } from './time.ts';

const { div, p, span, strong, details, summary, ul, li } = tags;

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

const rowTable = (title: string, rows: Trial, tenant_id: string) =>
  dataTable<Row>(
    {
      ...{ title, kind: 'trial-row', nameTitle: 'Delivery', id: ({ delivery_id }) => delivery_id },
      name: ({ event }) => event ?? 'unknown event',
      href: ({ delivery_id }) => `/console/t/${tenant_id}/deliveries/${delivery_id}`,
      beside: ({ preview }) => [' ', payloadPreview(preview)],
      details: ({ provider, rule, received_at }) => [provider, rule === null ? '' : ` · by ${rule}`, ' · ', ago(received_at)],
      columns: [
        { title: 'Then', cell: ({ verdict_then }) => verdictBadge(verdict_then) },
        { title: 'Now', cell: ({ verdict_now }) => verdictBadge(verdict_now) },
        { title: 'Redactions', look: 'number', cell: ({ redactions }) => String(redactions) },
        { title: 'Time', look: 'number', cell: ({ microseconds }) => `${countText(microseconds)} µs` },
      ],
      attributes: ({ verdict_now, verdict_then }) => ({ 'data-now': verdict_now ?? '', 'data-then': verdict_then }),
    },
    rows,
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
  return dataTable<(typeof byRule)[number]>(
    {
      ...{ title: 'Time per rule', kind: 'rule-time', nameTitle: 'Rule', id: ({ rule }) => rule, name: ({ rule }) => rule },
      columns: [
        { title: 'Evaluated', look: 'number', cell: ({ evaluated }) => countText(evaluated) },
        { title: 'Mean', look: 'number', cell: ({ evaluated, total }) => `${countText(Math.round(total / evaluated))} µs` },
        { title: 'Longest', look: 'number', cell: ({ most }) => `${countText(most)} µs` },
      ],
    },
    byRule.toSorted((one, other) => other.total - one.total),
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
