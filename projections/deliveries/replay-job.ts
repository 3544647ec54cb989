import { z } from 'zod';
import * as ReplayJob from '../../domain/deliveries/replay-job.ts';
import type { Recorded } from '../../domain/event.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import * as MemoryImport from '../../domain/memory/memory-import.ts';
import { insert, type Projection, patch } from '../projection.ts';
import type { Table } from '../table.ts';

export const JOB_KINDS = ['deliveries_replay', 'memory_import'] as const;
export const JOB_STATES = [...ReplayJob.JOB_STATUSES, 'failed'] as const;

export const Job = z
  .object({
    id: idOf('job').meta({ description: 'The id of the job' }),
    kind: z.enum(JOB_KINDS).meta({ description: 'What the job does' }),
    status: z.enum(JOB_STATES).meta({ description: '`running`, `done`, `cancelled` or `failed`' }),
    done: z
      .int()
      .meta({ description: 'How many deliveries were handled: sent, or skipped; or how many entries are stored', examples: [12] }),
    total: z.int().meta({ description: 'How many deliveries were selected, or how many entries the file has', examples: [50] }),
    error: z
      .string()
      .nullable()
      .meta({ description: 'How many of them were skipped, and why; or why the job failed; null if nothing went wrong', examples: [null] }),
    target_agent_id: idOf('agent').nullable().meta({
      description: 'The agent that gets the deliveries; null if each goes to the agent that first got it, and for an import',
    }),
    per_second: z
      .int()
      .nullable()
      .meta({ description: 'The maximum number of deliveries per second; null if there is none', examples: [10] }),
    created_at: Timestamp.meta({ description: 'When the job was requested' }),
    finished_at: Timestamp.nullable().meta({ description: 'When the job finished or was cancelled; null until then' }),
  })
  .meta({ id: 'Job' });

export const JobListItem = z
  .object({
    ...Job.shape,
    agent_id: idOf('agent').nullable().meta({ description: 'The agent into whose memory the job imports; null for a replay' }),
    requested_by_id: idOf('user').nullable().meta({ description: 'The user who requested it; null if it was not a person' }),
  })
  .meta({ id: 'JobListItem' });

/** The response to a dry run. It has the fields of a job, but there is no job. */
export const JobDryRun = z
  .object({
    ...Job.shape,
    id: z.null().meta({ description: 'Null: a dry run is not stored, so there is no job' }),
    kind: z.literal('deliveries_replay').meta({ description: 'What the job would do' }),
    status: z.literal('dry_run').meta({ description: 'The deliveries were counted, and nothing is sent' }),
    done: z.literal(0).meta({ description: 'Nothing was sent' }),
    total: z.int().meta({ description: 'How many deliveries would be sent', examples: [50] }),
    error: z.null().meta({ description: 'Always null' }),
    created_at: Timestamp.meta({ description: 'When the deliveries were counted' }),
    finished_at: Timestamp.meta({ description: 'When the deliveries were counted' }),
  })
  .meta({ id: 'JobDryRun' });

export const RequestedJob = z
  .union([Job, JobDryRun])
  .meta({ id: 'RequestedJob', description: 'The job; with `dry_run`, only what it would do' });

export const table = {
  name: 'jobs',
  key: ['tenant_id', 'id'],
  stream: ReplayJob.category,
  // `running_since` is null unless the job is a replay that is running.
  columns: {
    tenant_id: 'text',
    id: 'text',
    kind: 'text',
    status: 'text',
    agent_id: 'text',
    created_at: 'timestamptz',
    running_since: 'timestamptz',
  },
  docs: { doc: Job, listed: JobListItem },
  indexes: [{ columns: ['running_since', 'id'], withoutNull: 'running_since' }, { columns: ['tenant_id', 'created_at', 'id'] }],
} as const satisfies Table;

const requestedBy = ({ actor }: Recorded): string | null => (actor.kind === 'user' ? actor.id : null);

/** The jobs that send several deliveries again, and those that import files into the memories of agents. */
export const replays = {
  name: 'replays',
  version: 3,
  categories: [ReplayJob.category, MemoryImport.category],
  tables: [table],
  on: {
    DeliveriesReplayRequested: (event) => {
      const { id, tenant, at } = event;
      const { ids, agent_id, per_second = null } = event.data;
      return insert('jobs', {
        id,
        tenant_id: tenant,
        kind: 'deliveries_replay',
        status: 'running',
        done: 0,
        total: ids.length,
        target_agent_id: agent_id,
        per_second,
        error: null,
        created_at: at,
        finished_at: null,
        running_since: at,
        agent_id: null,
        requested_by_id: requestedBy(event),
      });
    },
    DeliveriesReplayAdvanced: ({ id, tenant: tenant_id, data: { done, error } }) => patch('jobs', { tenant_id, id }, { done, error }),
    DeliveriesReplayFinished: ({ id, tenant: tenant_id, at, data: { done, error } }) =>
      patch('jobs', { tenant_id, id }, { done, error, status: 'done', finished_at: at, running_since: null }),
    DeliveriesReplayCancelled: ({ id, tenant: tenant_id, at }) =>
      patch('jobs', { tenant_id, id }, { status: 'cancelled', finished_at: at, running_since: null }),
    MemoryImportStarted: (event) => {
      const { id, tenant, at } = event;
      const { agent_id, entries } = event.data;
      return insert('jobs', {
        id,
        tenant_id: tenant,
        kind: 'memory_import',
        status: 'running',
        done: 0,
        total: entries,
        target_agent_id: null,
        per_second: null,
        error: null,
        created_at: at,
        finished_at: null,
        running_since: null,
        agent_id,
        requested_by_id: requestedBy(event),
      });
    },
    MemoryImportAdvanced: ({ id, tenant: tenant_id, data: { done } }) => patch('jobs', { tenant_id, id }, { done }),
    MemoryImported: ({ id, tenant: tenant_id, at, data: { entries } }) =>
      patch('jobs', { tenant_id, id }, { status: 'done', done: entries, finished_at: at }),
    MemoryImportFailed: ({ id, tenant: tenant_id, at, data: { error } }) =>
      patch('jobs', { tenant_id, id }, { status: 'failed', error, finished_at: at }),
    MemoryImportUndone: ({ id, tenant: tenant_id, at }) => patch('jobs', { tenant_id, id }, { status: 'cancelled', finished_at: at }),
  },
} as const satisfies Projection<ReplayJob.ReplayJobEvent | MemoryImport.MemoryImportEvent>;
