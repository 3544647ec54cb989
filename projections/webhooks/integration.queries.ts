import type { z } from 'zod';
import type { Condition, Doc, Page, PageQuery, Reads, Source } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { integrationCounter, integrations, table, WebhookIntegrationRead } from './integration.ts';

const from: Source = { projection: integrations.name, table };

type IntegrationDoc = z.output<typeof WebhookIntegrationRead>;

/** Turns the stored URL path into a complete URL. */
const withUrl = (doc: IntegrationDoc, publicUrl: string): IntegrationDoc => ({ ...doc, url: publicUrl + doc.url });

/** Returns one integration as WebhookIntegrationRead; null if it does not exist or belongs to another tenant. */
export const integrationById = async (reads: Reads, tenant_id: string, id: string, publicUrl: string): Promise<Doc | null> => {
  const found = await reads.one(from, { id });
  const doc = found && (JSON.parse(found.doc) as IntegrationDoc);
  return found && doc?.tenant_id === tenant_id ? { ...found, doc: JSON.stringify(withUrl(doc, publicUrl)) } : null;
};

/**
 * Returns when the last deliveries to an integration came. The integration's own stream does not contain these times.
 */
export const lastDeliveries = async (
  reads: Reads,
  id: string,
): Promise<Pick<IntegrationDoc, 'last_delivery_at' | 'last_delivery_on_previous_secret_at'>> => {
  const found = await reads.one(from, { id });
  const { last_delivery_at = null, last_delivery_on_previous_secret_at = null } = found ? (JSON.parse(found.doc) as IntegrationDoc) : {};
  return { last_delivery_at, last_delivery_on_previous_secret_at };
};

export const INTEGRATION_SORTS = sortFields(table, WebhookIntegrationRead);

/** Returns a page of the webhook integrations of the tenant. */
export const integrationPage = async (
  reads: Reads,
  { tenant_id, publicUrl }: { tenant_id: string; publicUrl: string },
  filter: { agent_id?: string | undefined; provider?: string | undefined },
  window: Pick<PageQuery, 'sort' | 'limit' | 'cursor'>,
): Promise<Page> => {
  const where = Object.entries({ tenant_id, ...filter }).flatMap(([column, value]): Condition[] =>
    value === undefined ? [] : [{ column, op: '=', value }],
  );
  const { body, next } = await reads.page({ from, where, ...window });
  return { body: JSON.stringify((JSON.parse(body) as IntegrationDoc[]).map((doc) => withUrl(doc, publicUrl))), next };
};

/** Returns the number of webhook integrations of the tenant. */
export const integrationCount = (reads: Reads, tenant_id: string): Promise<number> =>
  integrationCounter.read(reads, integrations.name, tenant_id);
