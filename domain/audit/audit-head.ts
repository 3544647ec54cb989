import { type Position, parseToken, type Recorded, sortKey, tokenOf } from '../event.ts';
import { consistencyPath, type Hash, peaksOf, rootOf } from './merkle-tree.ts';

/** The heads of a tenant's audit tree are in one stream, whose id is that of the tenant. */
export const category = 'audithead';

/** The most entries by which one head extends the tree. */
export const MAX_HEAD_ENTRIES = 1_000;
/** A head is signed this long after the last one if there are entries that no head covers, in milliseconds. */
export const HEAD_INTERVAL_MS = 300_000;

/** An audited event: the hash of its leaf, and its log position. */
export type Leaf = { readonly leaf: Hash; readonly position: Position };

/**
 * The tree before a head: how many entries it has, the position of the last one, and the hashes that it can grow from.
 */
export type TreeBefore = { readonly size: number; readonly position: string | null; readonly peaks: readonly Hash[] };

export type AuditHeadFields = {
  readonly size: number;
  readonly root: Hash;
  /** The position of the last entry, as a consistency token. */
  readonly position: string;
  readonly at: string;
  readonly signature: string;
  readonly key_id: string;
  /** The proof that the tree begins with the tree before it. */
  readonly consistency: readonly Hash[];
  readonly before: TreeBefore;
  readonly peaks: readonly Hash[];
};

export type AuditHeadEvent = { type: 'AuditHeadSigned'; data: AuditHeadFields };
export type AuditHead = { readonly last: AuditHeadFields | null };

export const initial: AuditHead = { last: null };

export const evolve = (_: AuditHead, { data }: Recorded<AuditHeadEvent>): AuditHead => ({ last: data });

/** The text that a head's signature is made of. Its form must never change. */
export const signedText = (
  tenant: string,
  { size, root, position, at }: Pick<AuditHeadFields, 'size' | 'root' | 'position' | 'at'>,
): string => ['annals audit head v1', tenant, size, root, position, at].join('\n');

const EMPTY: TreeBefore = { size: 0, position: null, peaks: [] };

/** The sort key of a position that is written as a consistency token. */
export const sortKeyOf = (token: string): string => sortKey(parseToken(token)!);

/** The tree that the next head extends. */
export const treeAfter = ({ last }: AuditHead): TreeBefore =>
  last ? { size: last.size, position: last.position, peaks: last.peaks } : EMPTY;

type Signing = {
  readonly tenant: string;
  readonly at: string;
  readonly sign: (text: string) => { readonly signature: string; readonly key_id: string };
};

/**
 * Extends the tree by the entries that follow its last one, and signs its head. `leaves` are in log order. Does nothing
 * without an entry, or if another head covers the first one.
 */
export const signHead =
  (leaves: readonly Leaf[], { tenant, at, sign }: Signing) =>
  (state: AuditHead): AuditHeadEvent[] => {
    const before = treeAfter(state);
    const [first, last] = [leaves[0], leaves.at(-1)];
    if (!first || !last || (before.position !== null && sortKeyOf(before.position) >= sortKey(first.position))) return [];
    const end = { size: before.size, peaks: before.peaks, leaves: leaves.map(({ leaf }) => leaf) };
    const head = { size: before.size + leaves.length, root: rootOf(end), position: tokenOf(last.position), at };
    const proof = { consistency: consistencyPath(end), before, peaks: peaksOf(end) };
    return [{ type: 'AuditHeadSigned', data: { ...head, ...sign(signedText(tenant, head)), ...proof } }];
  };
