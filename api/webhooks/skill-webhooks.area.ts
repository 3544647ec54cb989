import type { Area } from '../services-of-areas.ts';
import { skillCallRoutes } from './skill-call.ts';
import { skillWebhookOperations } from './skill-webhook.ts';

export const skillWebhooksArea = {
  title: 'Skills',
  operations: () => skillWebhookOperations,
  plainRoutes: [skillCallRoutes],
} satisfies Area;
