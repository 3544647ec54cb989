import { type Position, parseToken, type Recorded, sortKey, tokenOf } from '../event.ts';
import { consistencyPath, type Hash, peaksOf, rootOf } from './merkle-tree.ts';

/** The signed heads of a tenant's audit tree. Each tenant has one stream, whose id is the id of the tenant. */
export const category = 'audithead';

/** The maximum number of entries that one head adds to the tree. */
export const MAX_HEAD_ENTRIES = 1_000;
/**
 * If there are entries that no signed head covers, a new head is signed when this many milliseconds have passed since
 * the last one.
 */
export const HEAD_INTERVAL_MS = 300_000;

/** An audited event: the hash of its leaf in the audit tree, and its log position. */
export type Leaf = { readonly leaf: Hash; readonly position: Position };

/**
 * The tree before a new head is added: its number of entries, the position of its last entry (null if the tree is
 * empty), and its peaks, from which the larger tree is computed (see `TreeEnd`).
 */
export type TreeBefore = { readonly size: number; readonly position: string | null; readonly peaks: readonly Hash[] };

/**
 * The version of a tree and of its signed heads. In version 1, a leaf leaves out the data of an event if they are bytes.
 * In version 2, which starts again with the first entry, a leaf covers the whole event. Each version has a signed text of
 * its own, so that no head of one can be taken for a head of the other.
 */
export type HeadVersion = 1 | 2;
export const HEAD_VERSION = 2;

export type AuditHeadFields = {
  /** Absent in heads of version 1. */
  readonly version?: HeadVersion;
  readonly size: number;
  readonly root: Hash;
  /** The position of the last entry of the tree, as a consistency token. */
  readonly position: string;
  readonly at: string;
  readonly signature: string;
  readonly key_id: string;
  /**
   * The proof that the tree of this head begins with all entries of the tree of the previous head (RFC 9162, 2.1.4).
   */
  readonly consistency: readonly Hash[];
  readonly before: TreeBefore;
  readonly peaks: readonly Hash[];
};

export type AuditHeadEvent = { type: 'AuditHeadSigned'; data: AuditHeadFields };
export type AuditHead = { readonly last: AuditHeadFields | null };

export const initial: AuditHead = { last: null };

export const evolve = (_: AuditHead, { data }: Recorded<AuditHeadEvent>): AuditHead => ({ last: data });

/**
 * Returns the text of a head that is signed. The form of this text must never change. Otherwise, stored signatures
 * would no longer match it.
 */
export const signedText = (
  tenant: string,
  { version = 1, size, root, position, at }: Pick<AuditHeadFields, 'version' | 'size' | 'root' | 'position' | 'at'>,
): string => [`annals audit head v${version}`, tenant, size, root, position, at].join('\n');

const EMPTY: TreeBefore = { size: 0, position: null, peaks: [] };

/** Returns the sort key of a position that is given as a consistency token. */
export const sortKeyOf = (token: string): string => sortKey(parseToken(token)!);

/** Returns the last head if it belongs to the tree of an earlier version, which gets no further heads; otherwise null. */
export const earlierHead = ({ last }: AuditHead): AuditHeadFields | null => (last && last.version !== HEAD_VERSION ? last : null);

/**
 * Returns the tree to which the next head adds entries: that of the last head, or an empty tree if there is no head of
 * this version.
 */
export const treeAfter = ({ last }: AuditHead): TreeBefore =>
  last?.version === HEAD_VERSION ? { size: last.size, position: last.position, peaks: last.peaks } : EMPTY;

type Signing = {
  readonly tenant: string;
  readonly at: string;
  readonly sign: (text: string) => { readonly signature: string; readonly key_id: string };
};

/**
 * Adds entries to the tree, and signs the head of the larger tree. `leaves` are the entries after the last one of the
 * tree, in log order. Returns no events if `leaves` is empty, or if an existing head already covers the first of them.
 */
export const signHead =
  (leaves: readonly Leaf[], { tenant, at, sign }: Signing) =>
  (state: AuditHead): AuditHeadEvent[] => {
    const before = treeAfter(state);
    const [first, last] = [leaves[0], leaves.at(-1)];
    if (!first || !last || (before.position !== null && sortKeyOf(before.position) >= sortKey(first.position))) return [];
    const end = { size: before.size, peaks: before.peaks, leaves: leaves.map(({ leaf }) => leaf) };
    const head = {
      version: HEAD_VERSION,
      size: before.size + leaves.length,
      root: rootOf(end),
      position: tokenOf(last.position),
      at,
    } as const;
    const proof = { consistency: consistencyPath(end), before, peaks: peaksOf(end) };
    return [{ type: 'AuditHeadSigned', data: { ...head, ...sign(signedText(tenant, head)), ...proof } }];
  };
