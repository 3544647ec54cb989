import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { DomainEvent, Metadata, Recorded } from '../domain/event.ts';
import type { Log } from '../infra/eventstore/log.ts';
import { add, insert, type Projection, patch, remove } from '../projections/projection.ts';
import type { Table } from '../projections/tables.ts';

type Loose = DomainEvent & { data: Record<string, unknown> };
type IdeaEvent = { [T in (typeof types)[number]]: Loose & { type: T } }[(typeof types)[number]];
export const types = ['IdeaNoted', 'IdeaRenamed', 'IdeaViewed', 'IdeaLinked', 'IdeaTagged', 'IdeaTorn', 'IdeaDropped'] as const;

const Idea = z.object({
  id: z.string(),
  title: z.string(),
  mood: z.enum(['glad', 'sad']).nullable().default(null),
  links: z.int(),
  extra: z.unknown(),
  created_at: z.string(),
});

export const ideasTable: Table = {
  name: 'ideas',
  key: ['tenant_id', 'id'],
  stream: 'idea',
  hidden: 'gone',
  columns: {
    tenant_id: 'text',
    id: 'text',
    title: 'text',
    extra: 'jsonb',
    gone: 'boolean',
    created_at: 'timestamptz',
    score: 'double precision',
  },
  counters: ['links'],
  docs: { doc: Idea, short_doc: Idea.pick({ id: true, title: true }) },
  indexes: [{ columns: ['tenant_id', 'created_at', 'id'] }],
};

const tagsTable: Table = { name: 'tags', key: ['tag'], columns: { tag: 'text', idea_id: 'text' }, docs: {} };

/** A projection made for tests: every kind of change, two tables, counters moved by other streams, an event that fails half way. */
export const ideas: Projection<IdeaEvent> = {
  name: 'ideas',
  version: 1,
  categories: ['idea'],
  tables: [ideasTable, tagsTable],
  on: {
    IdeaNoted: ({ tenant, id, at, data }) => insert('ideas', { tenant_id: tenant, id, created_at: at, extra: null, ...data }),
    IdeaRenamed: ({ tenant, id, data }) => patch('ideas', { tenant_id: tenant, id }, data),
    IdeaViewed: 'ignore',
    IdeaLinked: ({ tenant, data }) => add('ideas', { tenant_id: tenant, id: String(data.to) }, { links: 1 }),
    IdeaTagged: ({ id, data }) => insert('tags', { tag: data.tag, idea_id: id }),
    IdeaTorn: ({ tenant, id, data }) => [
      patch('ideas', { tenant_id: tenant, id }, { title: data.title }),
      patch('tags', { tag: 'never there' }, { idea_id: id }),
    ],
    IdeaDropped: ({ tenant, id }) => remove('ideas', { tenant_id: tenant, id }),
  },
};

/** The same projection over streams of another category: a shared log holds other tests' events too. */
export const ideasOf = (category: string): Projection<IdeaEvent> => ({
  ...ideas,
  categories: [category],
  tables: [{ ...ideasTable, stream: category }, tagsTable],
});

export type Given = readonly [id: string, type: string, data?: Record<string, unknown>];

/** Events as a log would hold them: revisions by stream, positions with gaps, a millisecond apart. */
export const happened = (given: readonly Given[], meta: Partial<Metadata> = {}, category = 'idea'): Recorded[] => {
  const revisions = new Map<string, number>();
  return given.map(([id, type, data = {}], index) => {
    const revision = (revisions.get(id) ?? -1) + 1;
    revisions.set(id, revision);
    const at = new Date(Date.UTC(2026, 0, 1) + index).toISOString();
    const kept: Metadata = { tenant: 't', actor: { kind: 'system', id: 'test' }, at, v: 1, ...meta };
    const commit = BigInt(1_000 + index * 101);
    return {
      type,
      data,
      id,
      revision,
      at,
      event_id: eventId(`${category}-${id}`, revision),
      stream: `${category}-t.${id}`,
      category,
      tenant: 't',
      position: { commit, prepare: commit },
      actor: kept.actor,
      meta: kept,
    };
  });
};

export const eventId = (id: string, revision: number): string => {
  const hex = createHash('sha256').update(`${id}@${revision}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/** Appends the events to a log, each at its revision. */
export const append = async (log: Log, events: readonly Recorded[]): Promise<void> => {
  for (const { event_id, stream, revision, type, data, meta } of events)
    await log.append(stream, revision === 0 ? 'none' : revision - 1, [{ id: event_id, type, data, meta }]);
};

export const idle = (count: number): Recorded[] => happened(Array.from({ length: count }, (_, n): Given => [`idle${n}`, 'IdeaViewed']));
