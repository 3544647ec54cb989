import type { Recorded } from '../../domain/event.ts';
import { AUDIT_RECORDS } from '../audit-records.ts';
import type { Row } from '../projection.ts';
import { actionOf } from './audit-entry.ts';

/** The names that a summary contains, in quotation marks where they need them. */
export type SummaryNames = {
  readonly actor: string;
  readonly resource: string;
  readonly person: string;
  readonly agent: string;
  readonly skill: string;
  /** The names of further subjects, by their ids: those of the fields that a summary contains. */
  readonly subjects?: ReadonlyMap<string, string>;
};

export type Part = { readonly text: string; readonly field: string | null };

/** Splits a summary into parts. Each part is a text and the name of the field that follows the text. */
export const partsOf = (summary: string): readonly Part[] =>
  summary.split('}').map((part) => {
    const [text, field = null] = part.split('{') as [string, string?];
    return { text, field };
  });

type Parts = { readonly ofPlatform: readonly Part[]; readonly ofOthers: readonly Part[] };

const PARTS: ReadonlyMap<string, Parts> = new Map(
  [...AUDIT_RECORDS].map(([type, { summary, summaryForPlatform = summary }]) => [
    type,
    { ofPlatform: partsOf(summaryForPlatform), ofOthers: partsOf(summary) },
  ]),
);

/** Formats names as a list: `a`, `a and b`, `a, b and c`. */
export const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

const NAMES = ['actor', 'resource', 'person', 'agent', 'skill'] as const;
const isName = (field: string): field is (typeof NAMES)[number] => (NAMES as readonly string[]).includes(field);

const partOf = (field: string, names: SummaryNames, meta: Row): string => {
  if (isName(field)) return names[field];
  if (field === 'fields') return listed(Object.keys(meta).filter((name) => name !== 'reason')) || 'nothing';
  const value = meta[field];
  const named = typeof value === 'string' ? names.subjects?.get(value) : undefined;
  if (named !== undefined) return named;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : 'unknown';
};

/** Returns one English sentence about an event. `meta` has the fields of the event without secrets. */
export const summaryOf = ({ type, actor }: Recorded, names: SummaryNames, meta: Row): string => {
  const found = PARTS.get(type);
  if (!found) return `${names.actor}: ${actionOf(type)}.`;
  const parts = actor.kind === 'system' ? found.ofPlatform : found.ofOthers;
  let sentence = `${names.actor} `;
  for (const { text, field } of parts) sentence += field === null ? text : text + partOf(field, names, meta);
  return `${sentence}.`;
};
