import { z } from 'zod';
import * as AuditAnchor from '../../domain/audit/audit-anchor.ts';
import * as AuditHead from '../../domain/audit/audit-head.ts';
import { Timestamp } from '../../domain/fields.ts';
import { insert, type Projection, patch } from '../projection.ts';
import type { Table } from '../table.ts';

const Hash = z.string().meta({ description: 'A SHA-256 hash as base64url', examples: ['47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'] });

export const SignedHead = z
  .object({
    version: z.literal([1, 2]).meta({
      description:
        'The version of the tree: 2. In version 1, which gets no new heads, the leaves leave out the data of events that are bytes',
      examples: [2],
    }),
    size: z.int().meta({ description: 'How many events the tree has', examples: [1000] }),
    root: Hash.meta({ description: 'The root of the tree over these events (RFC 9162), as base64url' }),
    position: z.string().meta({ description: 'The position of the last of these events', examples: ['48211:48211'] }),
    at: Timestamp.meta({ description: 'When the head was signed' }),
    signature: z.string().meta({
      description:
        'The Ed25519 signature as base64url, of the lines `annals audit head v2` (the number is the version), tenant id, size, root, position and `at`',
      examples: ['d2hhdC1zaWduYXR1cmU'],
    }),
    key_id: z.string().meta({
      description: 'The key that signed, see `/tenant/{tenant_id}/audit-logs/keys`',
      examples: ['kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k'],
    }),
    previous_size: z.int().meta({ description: 'The size of the head before this one; 0 if it is the first', examples: [0] }),
    consistency: z
      .array(Hash)
      .meta({ description: 'The proof that the tree begins with that of the head before (RFC 9162, 2.1.4)', examples: [[]] }),
    anchored_at: Timestamp.nullable().meta({
      description:
        'When the place outside the platform, to which the operator lets heads be posted, had received the head; null if it has not',
      examples: [null],
    }),
  })
  .meta({ id: 'SignedHead' });

/** The values from which a proof is computed, in addition to the hashes of the entries. */
export const TreeBefore = z.object({ before: z.object({ size: z.int(), position: z.string().nullable(), peaks: z.array(Hash) }) });

export const table = {
  name: 'heads',
  key: ['tenant_id', 'id'],
  columns: {
    tenant_id: 'text',
    id: 'text',
    version: 'integer',
    size: 'bigint',
    place: 'text',
    at: 'timestamptz',
    // The time at which the head was signed; null after the head was received at AUDIT_ANCHOR_URL.
    unanchored_since: 'timestamptz',
  },
  docs: { doc: SignedHead, tree: TreeBefore },
  indexes: [
    { columns: ['tenant_id', 'version', 'place'] },
    { columns: ['tenant_id', 'version', 'size'] },
    { columns: ['unanchored_since', 'size'], withoutNull: 'unanchored_since' },
  ],
} as const satisfies Table;

/** The signed heads of the tenants' audit trees. */
export const auditHeads = {
  name: 'auditheads',
  version: 3,
  categories: [AuditHead.category, AuditAnchor.category],
  tables: [table],
  on: {
    AuditHeadSigned: ({ event_id, tenant: tenant_id, data: { peaks: _, version = 1, ...head } }) =>
      insert('heads', {
        ...head,
        version,
        tenant_id,
        id: event_id,
        place: AuditHead.sortKeyOf(head.position),
        previous_size: head.before.size,
        anchored_at: null,
        unanchored_since: head.at,
      }),
    AuditHeadAnchored: ({ tenant: tenant_id, at, data: { head_id } }) =>
      patch('heads', { tenant_id, id: head_id }, { anchored_at: at, unanchored_since: null }),
  },
} as const satisfies Projection<AuditHead.AuditHeadEvent | AuditAnchor.AuditAnchorEvent>;
