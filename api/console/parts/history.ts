import type { Answer } from '../../http/ask.ts';
import type { HistoryEntry } from '../../http/history-schemas.ts';
import { textDifference } from './difference.ts';
import { icon } from './icon.ts';
import { problemPanel } from './problem-panel.ts';
import { sentenceParts } from './sentence.ts';
import { abbreviated, shortId } from './short-id.ts';
import { type Child, tags } from './tags.ts';
import { ago } from './time.ts';

const { ol, li, div, strong, span, code, details, summary, table, tbody, tr, th, td, del, ins, p } = tags;

const MAX_TEXT = 400;

const shown = (value: unknown): string => {
  if (value === null || value === undefined) return '—';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
};

/** Converts an event type to words: `AgentModelChainReordered` becomes `Agent model chain reordered`. */
export const wordsOf = (type: string): string => {
  const [first = '', ...rest] = type.replace(/([a-z])([A-Z])/g, '$1 $2').split(' ');
  return [first === 'Api' ? 'API' : first, ...rest.map((word) => word.toLowerCase())].join(' ');
};

/** Renders the cells with the old and the new value of a field. In two texts, the words or lines that differ are marked. */
const valuesOf = (from: unknown, to: unknown): Child => {
  const compared = typeof from === 'string' && typeof to === 'string' ? textDifference(from, to) : null;
  return compared ?? [td(null, del(null, shown(from))), td(null, ins(null, shown(to)))];
};

/**
 * Renders a table of fields that have changed, with their old and new values. `noteOn` returns what is said about a
 * field below its name.
 */
export const changeTable = (
  { changes }: Pick<HistoryEntry, 'changes'>,
  noteOn: (change: HistoryEntry['changes'][number]) => Child = () => null,
): Child =>
  changes.length === 0
    ? null
    : table(
        { class: 'changes' },
        tbody(
          null,
          ...changes.map((change) =>
            tr(null, th({ scope: 'row' }, code(null, change.pointer), noteOn(change)), valuesOf(change.from, change.to)),
          ),
        ),
      );

/** Returns the name of whoever caused an event. */
export const whoDid = ({ actor: { kind, id, name, email } }: Pick<HistoryEntry, 'actor'>): string => {
  if (kind === 'system') return name ?? id;
  return kind === 'agent' ? 'the runner of the agent' : (name ?? email ?? `user ${abbreviated(id)}`);
};

/** Says what happened in a sentence or, to those who may not read the audit log, by the type of the event. */
const saidOf = (entry: HistoryEntry): readonly Child[] =>
  entry.sentence === null
    ? [strong(null, wordsOf(entry.type)), span({ class: 'quiet' }, ' by ', whoDid(entry))]
    : [span({ class: 'sentence' }, ...sentenceParts({ sentence: entry.sentence }, undefined))];

const entryOf = (entry: HistoryEntry) =>
  li(
    { 'data-kind': 'event', 'data-id': entry.event_id, 'data-position': entry.position },
    span({ class: 'dot' }, icon('git-commit-horizontal')),
    details(
      null,
      summary(null, ...saidOf(entry), span({ class: 'quiet' }, ', ', ago(entry.at))),
      changeTable(entry),
      div(
        { class: 'quiet row' },
        span(null, 'Event ', shortId(entry.event_id, 'the event id')),
        span(null, 'Position ', code(null, entry.position)),
      ),
    ),
  );

/** Renders the events of a resource, newest first. Each event has a table of the fields that it has changed. */
export const historyList = (answer: Answer<readonly HistoryEntry[]>): Child => {
  if (!answer.ok) return problemPanel(answer.problem);
  if (answer.value.length === 0) return p({ class: 'quiet' }, 'No events.');
  return ol({ class: 'history' }, ...answer.value.map(entryOf));
};
