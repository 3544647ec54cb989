import type { z } from 'zod';
import { sampleEvents } from '../../domain/integrations/sample-delivery.ts';
import { defineList, defineQuery } from '../query.ts';
import { type Doc, type Page, type PageWindow, type Reads, type Source, tenantCount } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { integrationCounter, integrations, table, type WebhookIntegrationRead } from './integration.ts';

const from: Source<typeof table> = { projection: integrations.name, table };

type IntegrationDoc = z.output<typeof WebhookIntegrationRead>;

/**
 * Completes the document of an integration: makes its path a URL, and adds the events for which its provider has
 * samples.
 */
const complete = (doc: IntegrationDoc, publicUrl: string): IntegrationDoc => ({
  ...doc,
  url: publicUrl + doc.url,
  test_events: [...sampleEvents(doc.provider)],
});

/** Returns one integration as WebhookIntegrationRead; null if it does not exist or belongs to another tenant. */
export const integrationById = async (reads: Reads, tenant_id: string, id: string, publicUrl: string): Promise<Doc | null> => {
  const found = await reads.one(from, { id });
  const doc = found && (JSON.parse(found.doc) as IntegrationDoc);
  return found && doc?.tenant_id === tenant_id ? { ...found, doc: JSON.stringify(complete(doc, publicUrl)) } : null;
};

const nameById = defineQuery((db, { tenant_id, id }: { tenant_id: string; id: string }) =>
  db
    .selectFrom('integrations.integrations as integration')
    .select(['integration.label', 'integration.provider', 'integration.agent_id'])
    .where('integration.id', '=', id)
    .where('integration.tenant_id', '=', tenant_id)
    .where('integration.disconnected', 'is not', true),
);

/** Returns the label, the provider and the agent of an integration of a tenant; null if the tenant has no such integration. */
export const integrationName = async (reads: Reads, tenant_id: string, id: string) =>
  (await reads.rows(nameById, { tenant_id, id }))[0] ?? null;

/** Returns the times of the last deliveries to an integration. The integration's own stream does not contain them. */
export const lastDeliveries = async (
  reads: Reads,
  id: string,
): Promise<Pick<IntegrationDoc, 'last_delivery_at' | 'last_delivery_on_previous_secret_at'>> => {
  const found = await reads.one(from, { id });
  const { last_delivery_at = null, last_delivery_on_previous_secret_at = null } = found ? (JSON.parse(found.doc) as IntegrationDoc) : {};
  return { last_delivery_at, last_delivery_on_previous_secret_at };
};

export const INTEGRATION_SORTS = sortFields(table, table.docs.doc);

/** `except`: agents whose integrations are left out; undefined if there are none. */
type IntegrationFilter = {
  readonly agent_id?: string | undefined;
  readonly provider?: string | undefined;
  readonly except?: readonly string[] | undefined;
};

const integrationList = defineList(
  { table },
  (db, { tenant_id, agent_id, provider, except }: IntegrationFilter & { readonly tenant_id: string }) =>
    db
      .selectFrom('integrations.integrations as integration')
      .where('integration.tenant_id', '=', tenant_id)
      .$if(except !== undefined, (query) =>
        query.where(({ eb, fn, val, not }) => not(eb('integration.agent_id', '=', fn.any(val(except!))))),
      )
      .$if(agent_id !== undefined, (query) => query.where('integration.agent_id', '=', agent_id!))
      .$if(provider !== undefined, (query) => query.where('integration.provider', '=', provider!)),
);

export const integrationPage = async (
  reads: Reads,
  { tenant_id, publicUrl }: { tenant_id: string; publicUrl: string },
  { agent_id, provider, except }: IntegrationFilter,
  window: PageWindow,
): Promise<Page> => {
  const { body, next } = await reads.page(integrationList, { tenant_id, agent_id, provider, except }, window);
  return { body: JSON.stringify((JSON.parse(body) as IntegrationDoc[]).map((doc) => complete(doc, publicUrl))), next };
};

export const integrationCount = (reads: Reads, tenant_id: string): Promise<number> =>
  tenantCount(reads, integrations.name, integrationCounter.table, tenant_id);

const activeProviders = defineQuery((db, { tenant_id, agent_id }: { tenant_id: string; agent_id: string }) =>
  db
    .selectFrom('integrations.integrations as integration')
    .where('integration.tenant_id', '=', tenant_id)
    .where('integration.agent_id', '=', agent_id)
    .where('integration.is_paused', '=', false)
    .where('integration.disconnected', 'is not', true)
    .select('integration.provider')
    .distinct()
    .orderBy('integration.provider'),
);

/** Returns the providers for which this agent has an integration that is not paused. */
export const activeProvidersOf = async (reads: Reads, tenant_id: string, agent_id: string): Promise<ReadonlySet<string | null>> =>
  new Set((await reads.rows(activeProviders, { tenant_id, agent_id })).map(({ provider }) => provider));

/** The maximum number of integrations that `connectedIntegrations` returns. */
export const INTEGRATIONS_AT_ONCE = 200;

const connected = defineQuery((db, { after }: { after: string }) =>
  db
    .selectFrom('integrations.integrations as integration')
    .where('integration.id', '>', after)
    .where('integration.disconnected', 'is not', true)
    .orderBy('integration.id')
    .select('integration.id')
    .limit(({ lit }) => lit(INTEGRATIONS_AT_ONCE)),
);

/** Returns the ids of the connected integrations of all tenants that follow this id, in ascending order. */
export const connectedIntegrations = async (reads: Pick<Reads, 'rows'>, after: string): Promise<string[]> =>
  (await reads.rows(connected, { after })).map(({ id }) => id);
