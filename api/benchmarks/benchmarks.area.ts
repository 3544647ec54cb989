import type { Area, Needs } from '../area.ts';
import { findReadable } from '../files/readable-file.ts';
import { benchmarkOperationsOf } from './benchmark.ts';
import { benchmarkRunOperationsOf } from './benchmark-run.ts';

export const benchmarksArea = {
  title: 'Benchmarks',
  description: 'A catalogue of tasks with which agents are compared, and the runs of agents on them.',
  operations: ({ datasets }: Needs<'datasets'>) => ({
    ...benchmarkOperationsOf({ assertReadable: findReadable }),
    ...benchmarkRunOperationsOf(datasets),
  }),
  plainRoutes: [],
} satisfies Area;
