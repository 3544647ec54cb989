import * as integration from '../../projections/integrations/integration.queries.ts';
import type { PageWindow, Reads } from '../../projections/read-model.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { AGENT, INTEGRATION, newest, pages, ROW, single, TENANT } from '../fixtures/query-case.ts';

const integrationsOf =
  (filter: object) =>
  (reads: Reads, window: PageWindow = newest) =>
    integration.integrationPage(reads, { tenant_id: TENANT, publicUrl: '' }, filter, window);

const queries: AreaCases['queries'] = {
  integrationById: single((reads) => integration.integrationById(reads, TENANT, INTEGRATION, '')),
  integrationName: single((reads) => integration.integrationName(reads, TENANT, INTEGRATION)),
  connectedIntegrations: single((reads) => integration.connectedIntegrations(reads, INTEGRATION)),
  lastDeliveries: single((reads) => integration.lastDeliveries(reads, INTEGRATION)),
  integrationPage: {
    ...pages(integrationsOf({})),
    'of an agent and a provider': { rows: 'tenant', run: integrationsOf({ agent_id: AGENT, provider: 'text 7' }) },
    'without those of some agents': { rows: 'page', run: integrationsOf({ except: [ROW] }) },
  },
  activeProvidersOf: { call: { rows: 'tenant', run: (reads) => integration.activeProvidersOf(reads, TENANT, AGENT) } },
  integrationCount: single((reads) => integration.integrationCount(reads, TENANT)),
};

export const cases: AreaCases = { queries };
