import type { BenchmarkEvent } from '../../domain/benchmarks/benchmark.ts';
import { omit } from '../../domain/omit.ts';
import { type AuditOf, allFields } from '../audit-record.ts';

export const benchmarkAudit = {
  BenchmarkCreated: {
    summary: 'added the benchmark {resource} to the catalogue',
    activity: 'create',
    first: true,
    name: 'display_name',
    fields: (fields) => ({ ...omit(fields, 'generation'), retired: false }),
  },
  BenchmarkUpdated: {
    summary: 'changed {fields} of the benchmark {resource}',
    activity: 'update',
    name: 'display_name',
    fields: allFields,
  },
  BenchmarkRetired: {
    summary: 'removed the benchmark {resource} from the catalogue',
    activity: 'delete',
    fields: () => ({ retired: true }),
  },
} satisfies AuditOf<BenchmarkEvent>;
