import type { Area } from '../area.ts';
import { blackoutOperations } from './blackout.ts';
import { blackoutImpactOperations } from './blackout-impact.ts';
import { cronJobOperations } from './cron-job.ts';
import { cronOccurrenceOperations } from './cron-occurrences.ts';
import { cronPreviewOperations } from './cron-preview.ts';
import { cronSummaryOperations } from './cron-summary.ts';

export const schedulesArea = {
  title: 'Schedules',
  description: 'Cron jobs call an agent or a URL at certain times. On the days of a blackout they do not fire.',
  operations: () => ({
    ...cronJobOperations,
    ...cronPreviewOperations,
    ...cronOccurrenceOperations,
    ...cronSummaryOperations,
    ...blackoutOperations,
    ...blackoutImpactOperations,
  }),
  plainRoutes: [],
} satisfies Area;
