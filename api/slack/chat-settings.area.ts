import type { Area } from '../area.ts';
import { slackConfigOperations } from './slack-config.ts';

export const chatSettingsArea = {
  title: 'Chat settings',
  operations: () => slackConfigOperations,
  plainRoutes: [],
} satisfies Area;
