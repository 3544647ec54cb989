import type { z } from 'zod';
import type { Condition, Doc, Page, PageQuery, Reads, Source } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { integrationCounter, integrations, table, WebhookIntegrationRead } from './integration.ts';

const from: Source = { projection: integrations.name, table };

type Shown = z.output<typeof WebhookIntegrationRead>;

const addressed = (shown: Shown, publicUrl: string): Shown => ({ ...shown, url: publicUrl + shown.url });

/** One integration of the tenant as WebhookIntegrationRead; null where it is not there or another tenant's. */
export const integrationById = async (reads: Reads, tenant_id: string, id: string, publicUrl: string): Promise<Doc | null> => {
  const found = await reads.one(from, { id });
  const shown = found && (JSON.parse(found.doc) as Shown);
  return found && shown?.tenant_id === tenant_id ? { ...found, doc: JSON.stringify(addressed(shown, publicUrl)) } : null;
};

/** When deliveries came last, which the integration's own stream does not say. */
export const lastDeliveries = async (
  reads: Reads,
  id: string,
): Promise<Pick<Shown, 'last_delivery_at' | 'last_delivery_on_previous_secret_at'>> => {
  const found = await reads.one(from, { id });
  const { last_delivery_at = null, last_delivery_on_previous_secret_at = null } = found ? (JSON.parse(found.doc) as Shown) : {};
  return { last_delivery_at, last_delivery_on_previous_secret_at };
};

export const INTEGRATION_SORTS = sortFields(table, WebhookIntegrationRead);

/** A page of the tenant's integrations. */
export const integrationPage = async (
  reads: Reads,
  tenant_id: string,
  publicUrl: string,
  filter: { agent_id?: string | undefined; provider?: string | undefined },
  window: Pick<PageQuery, 'sort' | 'limit' | 'cursor'>,
): Promise<Page> => {
  const where = Object.entries({ tenant_id, ...filter }).flatMap(([column, value]): Condition[] =>
    value === undefined ? [] : [{ column, op: '=', value }],
  );
  const { body, next } = await reads.page({ from, where, ...window });
  return { body: JSON.stringify((JSON.parse(body) as Shown[]).map((shown) => addressed(shown, publicUrl))), next };
};

/** How many integrations the tenant has. */
export const integrationCount = (reads: Reads, tenant_id: string): Promise<number> =>
  integrationCounter.of(reads, integrations.name, tenant_id);
