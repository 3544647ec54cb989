import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { hitsText } from '../../console/forms/guardrail-editor.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { card } from '../../console/parts/facts.ts';
import { heading } from '../../console/parts/heading.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { a, div, p, span, code } = tags;

type Rule = ReplyOf<Rows['listGuardrails']>[number];
type Patterns = ReplyOf<Rows['listRedactionPatterns']>;

const STATES = { block: 'blocked', redact: 'paused', label: 'active', hold: 'held' } as const;

const optionText = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value));

/** Renders the options of a rule, each with its value. They say what the rule looks for. */
const optionsOf = ({ options }: Rule): Child =>
  span(
    { class: 'quiet' },
    ...Object.entries(options).flatMap(([name, value]) => [`${name.replaceAll('_', ' ')} `, code(null, optionText(value)), ' ']),
  );

const lookOf = (visit: Visit) => ({ returnTo: visit.path }) as const;

type Summary = ReplyOf<Rows['summarizeGuardrails']>;

const ruleTable = (visit: Visit, rules: readonly Rule[], summary: Summary | null) =>
  rules.length === 0
    ? emptyState(
        {
          icon: 'shield-check',
          title: 'No rules of your own',
          why: 'Depth, JSON and loops are always checked; secrets and injections are labelled. Rules can block, redact or label more.',
        },
        formLink(visit, visit.rows.replaceGuardrails, { tenant_id: visit.params.tenant_id! }, 'Add a rule', lookOf(visit)),
      )
    : dataTable<Rule>(
        {
          ...{ title: 'Guardrail rules', kind: 'guardrail', nameTitle: 'Rule', id: ({ name }) => name, name: ({ name }) => name },
          details: optionsOf,
          columns: [
            { title: 'Action', look: 'state', cell: ({ action }) => badge(STATES[action], action) },
            { title: 'Order', look: 'number', cell: (rule) => String(rules.indexOf(rule) + 1) },
            { title: 'Kind', cell: ({ kind }) => kind.replaceAll('_', ' ') },
            ...(summary ? [{ title: 'Last 24 hours', look: 'number', cell: ({ name }: Rule) => hitsText(summary, name) } as const] : []),
          ],
        },
        rules,
      );

const patternCard = (visit: Visit, patterns: Patterns) => {
  const path = { tenant_id: visit.params.tenant_id! };
  return card(
    'Redaction patterns',
    p({ class: 'quiet' }, 'What they match is replaced before a delivery, a message of a session or a mail is stored.'),
    patterns.length === 0
      ? p({ class: 'quiet' }, 'There are no redaction patterns.')
      : dataTable<Patterns[number]>(
          {
            ...{
              title: 'Redaction patterns',
              kind: 'redaction-pattern',
              nameTitle: 'Pattern',
              id: ({ tag }) => tag,
              name: ({ tag }) => tag,
            },
            details: ({ pattern }) => code(null, pattern),
            columns: [],
          },
          patterns,
        ),
    div(
      { class: 'actions form-actions' },
      formLink(visit, visit.rows.replaceRedactionPatterns, path, 'Edit the patterns', lookOf(visit)),
      formLink(visit, visit.rows.testRedactionPatterns, path, 'Test on a text', lookOf(visit)),
    ),
  );
};

/** The page with the guardrail rules and the redaction patterns of a tenant. */
export const guardrailsPage = page({
  path: '/console/t/:tenant_id/guardrails',
  permit: 'tenant:integrations:read',
  nav: 'Guardrails',
  categories: ['guardrails', 'redaction'],
  asks: ({ ask, rows, params, asOf }) => ({
    rules: ask(rows.listGuardrails, { tenant_id: params.tenant_id! }),
    patterns: ask(rows.listRedactionPatterns, { tenant_id: params.tenant_id! }),
    // A page that shows the past has no numbers of the present.
    summary: asOf === null ? ask(rows.summarizeGuardrails, { tenant_id: params.tenant_id! }) : Promise.resolve(null),
  }),
  title: () => 'Guardrails',
  view: ({ rules, patterns, summary }, visit) => {
    const path = { tenant_id: visit.params.tenant_id! };
    return [
      heading(
        'Guardrails',
        'Rules for the deliveries to all integrations, in this order. The first rule that blocks ends the evaluation.',
        formLink(visit, visit.rows.replaceGuardrails, path, 'Edit the rules', { ...lookOf(visit), icon: 'settings', look: 'primary' }),
        formLink(visit, visit.rows.tryGuardrails, path, 'Try rules and patterns', { ...lookOf(visit), icon: 'play' }),
      ),
      div(
        { 'data-kind': 'guardrails', 'data-position': rules.position },
        panel(rules, (found) => ruleTable(visit, found, summary?.ok ? summary.value : null)),
      ),
      p(
        { class: 'quiet below' },
        'An ',
        a({ href: tenantPath(path.tenant_id, '/integrations') }, 'integration'),
        ' can have further rules, which follow.',
      ),
      div(
        { class: 'below' },
        panel(patterns, (found) => patternCard(visit, found)),
      ),
    ];
  },
});
