import type { z } from 'zod';
import type { AccessDifference as DifferenceSchema } from '../../agents/effective-access.ts';
import { emptyState } from './empty-state.ts';
import { type Child, tags } from './tags.ts';

const { a, caption, div, label, option, select, span, table, tbody, td, th, thead, tr } = tags;

export type Difference = z.output<typeof DifferenceSchema>;
/** The names of members or agents by id. */
export type Names = ReadonlyMap<string, string>;

/** Returns the name of a member or, if there is none, the e-mail address. */
export const memberName = ({ name, email }: { readonly name: string | null; readonly email: string }): string => name ?? email;

/** Renders a select control with a label. Its first option has an empty value, which means no change. */
export const choice = (name: string, text: string, value: string | null, options: readonly (readonly [string, string])[]): Child =>
  div(
    null,
    label({ for: `field-${name}` }, text),
    select({ id: `field-${name}`, name }, ...options.map(([one, shown]) => option({ value: one, selected: one === (value ?? '') }, shown))),
  );

const change = (labels: readonly string[], sign: string, tone: string): Child =>
  labels.length === 0 ? span({ class: 'quiet' }, '—') : span({ class: tone }, `${sign} ${labels.join(', ')}`);

/** Renders a table of the permissions that users would gain or lose. */
export const differenceTable = (differences: readonly Difference[], users: Names, agents: Names, at: (rest: string) => string): Child =>
  differences.length === 0
    ? emptyState({ icon: 'check', title: 'Nobody gains or loses anything', why: 'The change leaves every permission as it is.' })
    : div(
        { class: 'table-box' },
        table(
          { class: 'list' },
          caption({ class: 'hidden' }, 'Who gains and loses what'),
          thead(null, tr(null, ...['Member', 'Agent', 'Gains', 'Loses'].map((name) => th({ scope: 'col' }, name)))),
          tbody(
            null,
            ...differences.map(({ user_id, agent_id, gained, lost }) =>
              tr(
                { 'data-kind': 'difference', 'data-id': `${user_id} ${agent_id}` },
                td(null, users.get(user_id) ?? user_id),
                td(null, a({ href: at(`/agents/${agent_id}/access?user_id=${user_id}`) }, agents.get(agent_id) ?? agent_id)),
                td({ class: 'wrap' }, change(gained, '+', 'gained')),
                td({ class: 'wrap' }, change(lost, '−', 'lost')),
              ),
            ),
          ),
        ),
      );
