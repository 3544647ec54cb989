import type { Answer } from '../../http/ask.ts';
import type { HistoryEntry } from '../../http/history-schemas.ts';
import { isRead, type Operations } from '../../http/operation.ts';
import { whoDid, wordsOf } from '../parts/history.ts';
import { icon } from '../parts/icon.ts';
import { type Child, tags } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import type { Visit } from '../visit.ts';
import { isSame } from './form-body.ts';
import { askAny, readOf } from './form-read.ts';
import { labelOf } from './form-words.ts';

const { section, div, p, table, caption, thead, tbody, tr, th, td, span, code, mark } = tags;

type Values = Readonly<Record<string, unknown>>;

/**
 * Three states of a resource that somebody else has changed meanwhile. `yours`: the values in the form. `theirs`: the
 * current values. `before`: the values when the form was rendered.
 */
export type Conflict = { readonly yours: Values; readonly theirs: Values; readonly before: Values };

/** Whether the resource already has all values that the visitor has changed in the form. */
export const isSaved = ({ yours, theirs, before }: Conflict): boolean =>
  Object.entries(yours).every(([name, value]) => isSame(value, theirs[name]) || isSame(value, before[name]));

/**
 * Returns the values for the form after a conflict. They are the current values of the resource, except that fields
 * which the visitor has changed keep the visitor's values.
 */
export const merged = ({ yours, theirs, before }: Conflict): Values => ({
  ...theirs,
  ...Object.fromEntries(Object.entries(yours).filter(([name, value]) => !isSame(value, before[name]))),
});

const shown = (value: unknown): Child => {
  if (value === undefined || value === null || value === '') return span({ class: 'quiet' }, '—');
  return typeof value === 'string' ? span(null, value) : code(null, JSON.stringify(value));
};

const rowsOf = ({ yours, theirs, before }: Conflict): readonly Child[] => {
  const names = [...new Set([...Object.keys(yours), ...Object.keys(theirs)])];
  const differing = names.filter((name) => {
    const mine = Object.hasOwn(yours, name) ? yours[name] : before[name];
    return !isSame(mine, theirs[name]) || !isSame(theirs[name], before[name]);
  });
  return differing.map((name) => {
    const mine = Object.hasOwn(yours, name) ? yours[name] : before[name];
    const cell = (value: unknown) => td(null, isSame(value, before[name]) ? shown(value) : mark(null, shown(value)));
    return tr({ 'data-field': name }, th({ scope: 'row' }, labelOf(name)), cell(mine), cell(theirs[name]), td(null, shown(before[name])));
  });
};

/**
 * Reads the latest event of the resource in a form. Null if the resource has no history, or the visitor may not read
 * it.
 */
export const readLastChange = async (
  visit: Visit,
  operations: Operations,
  { operation, params }: { readonly operation: string; readonly params: Readonly<Record<string, string>> },
): Promise<HistoryEntry | null> => {
  const path = `${readOf(operations, operation)?.path}/history`;
  const history = Object.values(operations).find((row) => isRead(row) && row.path === path);
  if (!history) return null;
  const names = [...path.matchAll(/:([a-z_]+)/g)].map(([, name]) => name!);
  const sent = { ...Object.fromEntries(names.map((name) => [name, params[name]])), limit: 1 };
  const answer = (await askAny(visit)(history, sent)) as Answer<readonly HistoryEntry[]>;
  return answer.ok ? (answer.value[0] ?? null) : null;
};

const whoOf = (entry: HistoryEntry | null, visit: Visit): Child => {
  if (entry === null) return 'Somebody changed this while you edited it.';
  const isYou = entry.actor.kind === 'user' && entry.actor.id === visit.me?.actor.id;
  const who = isYou ? 'You, in another window' : whoDid(entry);
  return span(null, `${who}, changed this while you edited it: ${wordsOf(entry.type)}, `, ago(entry.at), '.');
};

/**
 * Renders a comparison above the form. For each field, it shows the visitor's value and the value that somebody else
 * has set.
 */
export const conflictView = (conflict: Conflict, last: HistoryEntry | null, visit: Visit): Child =>
  section(
    { class: 'card conflict', 'data-conflict': '', role: 'alert' },
    div(
      { class: 'problem' },
      icon('triangle-alert'),
      p(null, whoOf(last, visit), ' Nothing of yours is lost: the form below has it. Save to put it on top.'),
    ),
    div(
      { class: 'table-box' },
      table(
        { class: 'list three-columns' },
        caption({ class: 'hidden' }, 'Fields that differ'),
        thead(
          null,
          tr(
            null,
            th({ scope: 'col' }, 'Field'),
            th({ scope: 'col' }, 'Yours'),
            th({ scope: 'col' }, 'Theirs'),
            th({ scope: 'col' }, 'Before'),
          ),
        ),
        tbody(null, ...rowsOf(conflict)),
      ),
    ),
  );
