import type { Area } from '../area.ts';
import { skillCallRoutes } from './skill-call.ts';
import { skillWebhookOperations } from './skill-webhook.ts';

export const skillWebhooksArea = {
  title: 'Skills',
  operations: () => skillWebhookOperations,
  plainRoutes: [skillCallRoutes],
} satisfies Area;
