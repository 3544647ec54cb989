import type { Area } from '../area.ts';
import { agentIntegrationOperations } from './agent-integrations.ts';
import { integrationOperations } from './integration.ts';

export const integrationsArea = {
  title: 'Webhooks in',
  operations: () => ({ ...integrationOperations, ...agentIntegrationOperations }),
  plainRoutes: [],
} satisfies Area;
