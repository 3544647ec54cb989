import { z } from 'zod';
import * as AuditHead from '../../domain/audit/audit-head.ts';
import * as AuditKey from '../../domain/audit/audit-key.ts';
import { inclusionPath, rootOf } from '../../domain/audit/merkle-tree.ts';
import { notFound, Refusal } from '../../domain/refusal.ts';
import { HEAD_SORTS, headCovering, headPage, leavesBetween, newestHead } from '../../projections/audit/audit-head.queries.ts';
import { auditHeads, SignedHead } from '../../projections/audit/audit-head.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import { type Ctx, operation } from '../http/operation.ts';
import { listQuery, PositionToken, parseSort } from '../http/paging.ts';

const AUDIT = '/tenant/:tenant_id/audit-logs';
const permit = 'tenant:audit:read';

const Hash = z.string().meta({ examples: ['47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'] });

const InclusionProof = z
  .object({
    leaf: Hash.meta({
      description:
        'SHA-256 of a zero byte and the JSON text of the event, without blanks, as `GET /tenant/{tenant_id}/events` shows it; as base64url',
    }),
    index: z.int().meta({ description: 'The number of the event in the tree, from 0', examples: [17] }),
    size: z.int().meta({ description: 'How many events the tree of the head has', examples: [1000] }),
    path: z.array(Hash).meta({ description: 'The hashes beside the way from the leaf to the root (RFC 9162, 2.1.3)', examples: [[]] }),
    head: SignedHead.meta({ description: 'The signed head to whose root they lead' }),
  })
  .meta({ id: 'InclusionProof' });

const HeadVersionQuery = z
  .enum(['1', '2'])
  .default('2')
  .transform((text) => Number(text) as AuditHead.HeadVersion)
  .meta({ description: 'The version of the tree: 2, or 1 for the earlier tree, whose leaves leave out the data of events that are bytes' });

const ProofQuery = z.strictObject({
  position: PositionToken.optional().meta({
    description: 'The position of an event of the tenant, from its audit log; default: the newest that a head covers',
  }),
});

/**
 * Returns the proof that an event is a leaf of the tree whose root hash is in the first signed head that covers the
 * event. Without `position`, this is the newest event that a head covers.
 * @throws Refusal not_found if the tenant has no such event or no head covers it yet, not_caught_up
 */
const proveEntry = async ({ reads, tenant }: Ctx, position: string | undefined): Promise<z.output<typeof InclusionProof>> => {
  const covering =
    position === undefined ? await newestHead(reads, tenant) : await headCovering(reads, tenant, AuditHead.sortKeyOf(position));
  if (!covering) throw new Refusal('not_found', 'No signed head covers such an event yet: the next head is signed within five minutes');
  const place = position === undefined ? covering.place : AuditHead.sortKeyOf(position);
  const { head, before } = covering;
  const after = before.position === null ? '' : AuditHead.sortKeyOf(before.position);
  const entries = await leavesBetween(reads, tenant, after, covering.place);
  const at = entries.findIndex((entry) => entry.place === place);
  if (at < 0) throw notFound();
  const end = { size: before.size, peaks: before.peaks, leaves: entries.map(({ leaf }) => leaf) };
  // While a rebuild of the audit log replaces its tables, entries can be missing.
  if (rootOf(end) !== head.root) throw new Refusal('not_caught_up', 'The audit log is being rebuilt: try again', { retryAfter: 5 });
  const index = before.size + at;
  return { leaf: entries[at]!.leaf, index, size: head.size, path: inclusionPath(end, index), head };
};

export const AuditKeyRead = z
  .object({
    key_id: z
      .string()
      .meta({ description: 'The JWK thumbprint of the key (RFC 7638)', examples: ['kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k'] }),
    public_key: z
      .string()
      .meta({ description: 'The Ed25519 public key: 32 bytes as base64url', examples: ['11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'] }),
    cross_signature: z
      .string()
      .nullable()
      .meta({
        description: 'The signature of the lines `annals audit key v1`, key id and public key by the key before; null for the first one',
        examples: [null],
      }),
    created_at: z.string().meta({ format: 'date-time', description: 'When the key was created', examples: ['2026-03-01T12:00:00.000Z'] }),
  })
  .meta({ id: 'AuditKeyRead' });

export const auditProofOperations = {
  listAuditHeads: operation({
    method: 'get',
    path: `${AUDIT}/heads`,
    summary: 'List the signed heads of the audit tree',
    details:
      'The events of a tenant are the leaves of a Merkle tree (RFC 9162), in log order. A head is signed after 1,000 events, or five minutes after the last one. Its `consistency` proves that nothing before was changed or removed. Heads of version 1 belong to an earlier tree, which `audit.leaf_rule_changed` in the audit log has ended.',
    permit,
    projection: auditHeads.name,
    query: listQuery({ version: HeadVersionQuery }, HEAD_SORTS),
    reply: z.array(SignedHead),
    run: (ctx, { tenant_id, version, limit, cursor, sort }) =>
      headPage(ctx.reads, tenant_id, version, { limit, cursor, sort: parseSort(sort ?? '-size', HEAD_SORTS) }),
  }),
  getAuditProof: operation({
    method: 'get',
    path: `${AUDIT}/proof`,
    summary: 'Prove that an event is in the audit tree',
    details:
      'The proof is against the first head that covers the event. It needs no trust in this service: anybody can check it with the public key.',
    permit,
    projection: auditHeads.name,
    otherProjections: [audit.name],
    query: ProofQuery,
    reply: InclusionProof,
    noETag: true,
    run: async (ctx, { position }) => ({ doc: JSON.stringify(await proveEntry(ctx, position)), revision: null }),
  }),
  listAuditKeys: operation({
    method: 'get',
    path: `${AUDIT}/keys`,
    summary: 'List the keys that sign audit heads',
    details: 'The newest key comes last and signs. Each key but the first is signed by the previous one.',
    permit,
    reply: z.array(AuditKeyRead),
    noETag: true,
    run: async (ctx) => {
      const { state, position } = await ctx.load(AuditKey, AuditKey.KEYS_ID);
      return { body: JSON.stringify(z.array(AuditKeyRead).parse(state.keys)), next: null, position };
    },
  }),
};
