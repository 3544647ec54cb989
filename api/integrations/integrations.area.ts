import type { Area } from '../area.ts';
import { agentIntegrationOperations } from './agent-integrations.ts';
import { integrationOperations } from './integration.ts';

export const integrationsArea = {
  title: 'Webhooks in',
  description:
    'A webhook integration gives a provider, such as GitHub, a URL to which it sends signed deliveries for an agent. Each delivery is recorded once, however often it is sent.',
  operations: () => ({ ...integrationOperations, ...agentIntegrationOperations }),
  plainRoutes: [],
} satisfies Area;
