import { z } from 'zod';
import { Instant } from '../../domain/fields.ts';
import { AuditLogRead } from '../../projections/audit/audit-log.ts';
import { type Described, SentencePart, sentenceOf } from '../../projections/audit/audit-sentence.ts';

const Run = z.object({
  count: z.int().meta({ description: 'How many entries it stands for', examples: [41] }),
  first_at: Instant.meta({ description: 'When the first of them happened', examples: ['2026-11-26T20:12:00.000Z'] }),
});

/** An entry of the list of a tenant: its sentence, and the entries before it that it stands for. */
export const AuditListEntry = AuditLogRead.extend({
  sentence: z.array(SentencePart).meta({
    description: 'What happened, in parts with references and without ids',
    examples: [
      [
        { text: 'Ada', kind: 'user', id: 'c1u33xtplpft75v2seh60kvj5' },
        { text: ' signed in', kind: null, id: null },
      ],
    ],
  }),
  run: Run.nullable().meta({
    description:
      'With `collapse`: the entries of the same kind in a row that this one, the newest, stands for; null if it stands for itself',
    examples: [null],
  }),
}).meta({ id: 'AuditListEntry' });

type Stored = Described & { readonly id: string; readonly created_at: string };
type Listed = Stored & { sentence: unknown; run: { count: number; first_at: string } | null };

type Collapse = { readonly descending: boolean };

/** What entries of one run have in common: the same actor did the same to the same resource. */
const kindOf = ({ action, actor, resource_id, resource_type, sentence }: Listed): string =>
  JSON.stringify([action, actor, resource_type === 'member' || resource_type === 'agent' ? resource_id : null, sentence]);

/** Returns the newest entry of each run. The entries are in the order of the list, the newest first if `descending`. */
const collapsed = (entries: readonly Listed[], { descending }: Collapse): Listed[] => {
  const result: Listed[] = [];
  for (const entry of entries) {
    const last = result.at(-1);
    if (!last || kindOf(last) !== kindOf(entry)) {
      result.push(entry);
      continue;
    }
    const run = { count: (last.run?.count ?? 1) + 1, first_at: descending ? entry.created_at : (last.run?.first_at ?? last.created_at) };
    result[result.length - 1] = { ...(descending ? last : entry), run };
  }
  return result;
};

/** The fields that an entry of the previous version lacks until the read model is rebuilt. */
const NO_SUBJECTS = { subjects: [] };

/** Returns the entries of a page with their sentences; with `collapse`, one for each run of equal sentences. */
export const listEntries = (body: string, collapse: Collapse | false): { readonly body: string; readonly entries: readonly Stored[] } => {
  const stored = (JSON.parse(body) as Stored[]).map((entry) => ({ ...NO_SUBJECTS, ...entry }));
  const entries = stored.map((entry): Listed => ({ ...entry, sentence: sentenceOf(entry), run: null }));
  return { body: JSON.stringify(collapse ? collapsed(entries, collapse) : entries), entries: stored };
};
