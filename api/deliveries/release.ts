import { z } from 'zod';
import { Release, type ReleasePorts, releaseDelivery } from '../../commands/deliveries/release.ts';
import { Timestamp } from '../../domain/fields.ts';
import { operation } from '../http/operation.ts';
import { DELIVERY } from './delivery.ts';
import { refuseRejected } from './refuse-rejected.ts';
import { SentMessage } from './sent-message.ts';

const ReleasedDelivery = SentMessage.extend({
  released_at: Timestamp.meta({ description: 'When it was released' }),
  released_by: z
    .object({
      kind: z.enum(['user', 'agent', 'system']).meta({ description: 'A user, or the platform' }),
      id: z.string().meta({ description: 'The id of the user, or the part of the platform', examples: ['c1u33xtplpft75v2seh60kvj5'] }),
    })
    .meta({ description: 'Who released it' }),
}).meta({ id: 'ReleasedDelivery' });

export const releaseOperationOf = (ports: ReleasePorts) => ({
  releaseDelivery: operation({
    method: 'post',
    path: `${DELIVERY}/release`,
    summary: 'Release a blocked or held delivery',
    details:
      'Sends a delivery that the guardrails have blocked, hold, or have held too long to its agent, or to another one, once. The present redaction rules and patterns of the tenant are applied first. The message says in `releasedfrom` why the delivery was blocked or held.',
    permit: 'tenant:integrations:write',
    permissionNote: 'Requires the permissions `tenant:integrations:write`, and `agent:assign` on the agent that gets the delivery.',
    body: Release,
    reply: ReleasedDelivery,
    status: 202,
    run: async (ctx, input) => {
      await refuseRejected(ctx, input.delivery_id);
      return releaseDelivery(ctx, input, ports);
    },
  }),
});
