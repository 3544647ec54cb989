import type { Area, Needs } from '../area.ts';
import { findReadable } from '../files/readable-file.ts';
import { benchmarkOperationsOf } from './benchmark.ts';
import { benchmarkRunOperationsOf } from './benchmark-run.ts';

export const benchmarksArea = {
  title: 'Benchmarks',
  operations: ({ datasets }: Needs<'datasets'>) => ({
    ...benchmarkOperationsOf({ assertReadable: findReadable }),
    ...benchmarkRunOperationsOf(datasets),
  }),
  plainRoutes: [],
} satisfies Area;
