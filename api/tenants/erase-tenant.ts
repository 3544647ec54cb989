import { z } from 'zod';
import { type ErasurePorts, eraseTenant } from '../../commands/tenants/erase-tenant.ts';
import { Reason } from '../../commands/tenants/tenant.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { operation } from '../http/operation.ts';

const ErasureReceipt = z
  .object({
    tenant_id: idOf('tenant'),
    key_destroyed_at: Timestamp.meta({ description: 'When the data key was destroyed, without which no sealed content can be read' }),
    position: z.string().meta({ description: 'The position of the event that records the erasure', examples: ['48211:48211'] }),
    streams: z.int().meta({ description: 'How many streams of the tenant the log had', examples: [42] }),
    events: z.int().meta({ description: 'How many events these streams had', examples: [1310] }),
    signature: z.string().meta({
      description:
        'The Ed25519 signature by the key `key_id` as base64url, of the lines `annals erasure receipt v1`, tenant id, `key_destroyed_at`, `position`, `streams` and `events`',
      examples: ['d2hhdC1zaWduYXR1cmU'],
    }),
    key_id: z.string().meta({
      description: 'The key of the platform that signed: one of those that sign audit heads, by its JWK thumbprint (RFC 7638)',
      examples: ['kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k'],
    }),
    public_key: z.string().meta({
      description: 'The Ed25519 public key: 32 bytes as base64url',
      examples: ['11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'],
    }),
  })
  .meta({ id: 'ErasureReceipt' });

export const eraseTenantOperations = (ports: ErasurePorts) => ({
  eraseTenant: operation({
    method: 'delete',
    path: '/admin/tenants/:tenant_id',
    summary: 'Erase a tenant forever',
    details:
      'The tenant is closed at once and its data key is destroyed: nobody can read its contents any more, not even in a backup without that key. Its rows, files and messages are removed within minutes. A repeat returns the same receipt. The events of a very large tenant are counted first: until then, the answer is 503.',
    permit: { all: ['platform'], recentSignIn: true },
    body: Reason,
    reply: ErasureReceipt,
    status: 202,
    run: eraseTenant(ports),
  }),
});
