import { hash } from 'node:crypto';
import type { AggregateReader } from '../../commands/context.ts';
import type { ReleasePorts } from '../../commands/deliveries/release.ts';
import * as DeliveryBody from '../../domain/bodies/delivery-body.ts';
import { PLATFORM } from '../../domain/event.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { SealedEvents } from '../vault/sealed-events.ts';
import { chunkEvent, writeChunks } from './body-chunks.ts';

export type ReleaseParts = Pick<ReleasePorts, 'readDelivery' | 'guardrails'> & {
  readonly log: Log;
  readonly vault: Pick<SealedEvents, 'sealEvent'>;
  readonly cache: AggregateReader;
};

export const releasePorts = ({ log, vault, cache, readDelivery, guardrails }: ReleaseParts): ReleasePorts => ({
  readDelivery,
  guardrails,
  sourceOf: async (tenant_id, { integration_id: id, agent_id, provider }) => {
    const { state } = await cache.load(Integration, PLATFORM, id);
    if (state.status === 'connected' && state.tenant_id === tenant_id) return state;
    return { id, tenant_id, agent_id, provider, guardrails: [] };
  },
  storeBody: async ({ tenant_id: tenant, id }, facts, body) => {
    const stored = { sha256: hash('sha256', body, 'hex'), size_bytes: body.length };
    const chunks = DeliveryBody.chunkStream(tenant, id, stored.sha256);
    const place = { tenant, category: DeliveryBody.category, id: DeliveryBody.chunksId(id, stored.sha256) };
    const delivery = { integration: { id: facts.integration_id, tenant_id: tenant }, id, facts: { ...facts, ...stored, parts: 1 }, body };
    await writeChunks(log, async (large, index) => vault.sealEvent(place, chunkEvent(chunks, large, index)), delivery);
    return stored;
  },
});
