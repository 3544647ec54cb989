import type { Area } from '../services-of-areas.ts';
import { slackConfigOperations } from './slack-config.ts';

export const chatSettingsArea = {
  title: 'Chat settings',
  operations: () => slackConfigOperations,
  plainRoutes: [],
} satisfies Area;
