import { type Position, parseToken, type Recorded, sortKey, tokenOf } from '../event.ts';
import { consistencyPath, type Hash, peaksOf, rootOf } from './merkle-tree.ts';

/** The signed heads of a tenant's audit tree. Each tenant has one stream, whose id is the id of the tenant. */
export const category = 'audithead';

/** The maximum number of entries that one head adds to the tree. */
export const MAX_HEAD_ENTRIES = 1_000;
/** If there are entries that no head covers, a new head is signed this long after the last one, in milliseconds. */
export const HEAD_INTERVAL_MS = 300_000;

/** An audited event: the hash of its leaf, and its log position. */
export type Leaf = { readonly leaf: Hash; readonly position: Position };

/**
 * The tree that a new head extends: its number of entries, the position of the last one (null if it is empty), and the
 * peaks from which it can grow (see `TreeEnd`).
 */
export type TreeBefore = { readonly size: number; readonly position: string | null; readonly peaks: readonly Hash[] };

export type AuditHeadFields = {
  readonly size: number;
  readonly root: Hash;
  /** The position of the last entry of the tree, as a consistency token. */
  readonly position: string;
  readonly at: string;
  readonly signature: string;
  readonly key_id: string;
  /** The proof that the tree of this head starts with the entries of the tree before it (RFC 9162, 2.1.4). */
  readonly consistency: readonly Hash[];
  readonly before: TreeBefore;
  readonly peaks: readonly Hash[];
};

export type AuditHeadEvent = { type: 'AuditHeadSigned'; data: AuditHeadFields };
export type AuditHead = { readonly last: AuditHeadFields | null };

export const initial: AuditHead = { last: null };

export const evolve = (_: AuditHead, { data }: Recorded<AuditHeadEvent>): AuditHead => ({ last: data });

/**
 * Returns the text that is signed. Its form must never change. Otherwise, stored signatures would no longer match it.
 */
export const signedText = (
  tenant: string,
  { size, root, position, at }: Pick<AuditHeadFields, 'size' | 'root' | 'position' | 'at'>,
): string => ['annals audit head v1', tenant, size, root, position, at].join('\n');

const EMPTY: TreeBefore = { size: 0, position: null, peaks: [] };

/** Returns the sort key of a position that is given as a consistency token. */
export const sortKeyOf = (token: string): string => sortKey(parseToken(token)!);

/** Returns the tree that the next head extends: the tree of the last head, or an empty one. */
export const treeAfter = ({ last }: AuditHead): TreeBefore =>
  last ? { size: last.size, position: last.position, peaks: last.peaks } : EMPTY;

type Signing = {
  readonly tenant: string;
  readonly at: string;
  readonly sign: (text: string) => { readonly signature: string; readonly key_id: string };
};

/**
 * Extends the tree by entries, and signs its new head. `leaves` are the entries after the last one of the tree, in log
 * order. Returns no events if there are no entries, or if a head already covers the first entry.
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
