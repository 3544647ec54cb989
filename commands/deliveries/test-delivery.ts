import { z } from 'zod';
import { displayText } from '../../domain/fields.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import { PROVIDER_DEFINITIONS } from '../../domain/integrations/provider.ts';
import { presetOf } from '../../domain/integrations/provider-preset.ts';
import { sampleEvents, sampleOf, sampleRequest } from '../../domain/integrations/sample-delivery.ts';
import { canSign, signatureHeaders } from '../../domain/integrations/sign-delivery.ts';
import { conflict, invalid } from '../../domain/refusal.ts';
import type { Ctx, Input } from '../context.ts';
import { receive } from './receive-delivery.ts';
import type { WebhookPorts } from './webhook-ports.ts';
import type { WebhookRequest } from './webhook-request.ts';

export const TestDelivery = z
  .strictObject({
    event: displayText(1, 128)
      .nullish()
      .meta({ description: "The provider's name of the event. Absent: its ping, or else its first sample", examples: ['push'] }),
  })
  .meta({ id: 'TestDelivery', examples: [{}] });

const USER_AGENT = 'annals-test-delivery';

/** @throws Refusal invalid, conflict */
const sampleFor = (integration: Integration.Integration, event: string | null | undefined) => {
  const { provider } = integration;
  if (!canSign(presetOf(integration).scheme)) {
    const { label, secret } = PROVIDER_DEFINITIONS[provider];
    const detail = `Only ${secret?.form === 'public_key' ? label : 'the sender'} can sign: the secret of this integration is a public key`;
    throw conflict('/path/id', 'cannot_sign', detail);
  }
  const sample = sampleOf(provider, event ?? undefined);
  if (sample) return sample;
  const events = sampleEvents(provider);
  throw invalid(
    '/event',
    events.length > 0 ? `must be absent, or one of ${events.join(', ')}` : 'must be absent: the samples have no event',
  );
};

/**
 * A signed sample of the provider, which passes the same checks as a delivery from outside.
 * @returns the id of the delivery
 * @throws Refusal not_found, invalid, conflict, and those of `receive`
 */
export const sendTestDelivery = async (
  ctx: Ctx,
  { tenant_id, id, event }: Input<typeof TestDelivery, 'tenant_id' | 'id'>,
  ports: WebhookPorts,
): Promise<string> => {
  const { state } = await ctx.load(Integration, id);
  Integration.assertConnected(state, tenant_id);
  const sample = sampleFor(state, event);
  const name = ctx.newId();
  return ctx.sideEffect(async () => {
    const now = ports.now();
    const { headers, body } = sampleRequest(state, sample, name, now);
    const keys = await ports.verification.signingKeys(state, now);
    const unsigned = { body: Buffer.from(body), url: () => ctx.publicUrl + Integration.inboundPath(id), header: headerOf(headers) };
    const signature = signatureHeaders(presetOf(state).scheme, unsigned, keys.current, Math.floor(Date.parse(now) / 1000));
    const header = headerOf({ 'user-agent': USER_AGENT, ...headers, ...signature });
    const request: WebhookRequest = { ...unsigned, header, integration_id: id, ip: null };
    const result = await receive(ports, request, () => {});
    if (!('outcome' in result)) throw new Error('a sample was taken for a handshake');
    return result.id;
  });
};

const headerOf =
  (headers: Readonly<Record<string, string>>) =>
  (name: string): string | undefined =>
    headers[name];
