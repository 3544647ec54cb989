import type { Area } from '../area.ts';
import { redactionOperations } from './redaction-patterns.ts';

export const redactionArea = {
  title: 'Webhooks in',
  operations: () => redactionOperations,
  plainRoutes: [],
} satisfies Area;
