import type { Area } from '../area.ts';
import { slackConfigOperations } from './slack-config.ts';

export const chatSettingsArea = {
  title: 'Chat settings',
  description: 'Limits and working hours of an agent in Slack.',
  operations: () => slackConfigOperations,
  plainRoutes: [],
} satisfies Area;
