import { type Position, parseToken, type Recorded, sortKey, tokenOf } from '../event.ts';
import { consistencyPath, type Hash, peaksOf, rootOf } from './merkle-tree.ts';

/** One stream per tenant, with the id of the tenant. */
export const category = 'audithead';

/** The maximum number of entries that one head adds to the tree. */
export const MAX_HEAD_ENTRIES = 1_000;
/** A new head is signed this long after the last one, if there are entries that no head covers. */
export const HEAD_INTERVAL_MS = 300_000;

export type Leaf = { readonly leaf: Hash; readonly position: Position };

/**
 * The tree before a new head is added. `position`: that of the last entry; null if the tree is empty. The larger tree is computed from
 * `peaks` (see `TreeEnd`).
 */
export type TreeBefore = { readonly size: number; readonly position: string | null; readonly peaks: readonly Hash[] };

/**
 * In version 1, a leaf leaves out the data of an event if they are bytes; in version 2, which starts again with the first entry, it covers
 * the whole event. The signed texts differ, so that no head of one version can be taken for a head of the other.
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
  /** Proves that the tree begins with all entries of the previous head's tree (RFC 9162, 2.1.4). */
  readonly consistency: readonly Hash[];
  readonly before: TreeBefore;
  readonly peaks: readonly Hash[];
};

export type AuditHeadEvent = { type: 'AuditHeadSigned'; data: AuditHeadFields };
export type AuditHead = { readonly last: AuditHeadFields | null };

export const initial: AuditHead = { last: null };

export const evolve = (_: AuditHead, { data }: Recorded<AuditHeadEvent>): AuditHead => ({ last: data });

/** The form of this text must never change: stored signatures would no longer match it. */
export const signedText = (
  tenant: string,
  { version = 1, size, root, position, at }: Pick<AuditHeadFields, 'version' | 'size' | 'root' | 'position' | 'at'>,
): string => [`annals audit head v${version}`, tenant, size, root, position, at].join('\n');

const EMPTY: TreeBefore = { size: 0, position: null, peaks: [] };

export const sortKeyOf = (token: string): string => sortKey(parseToken(token)!);

/** The last head if it is of an earlier version, whose tree gets no further heads. */
export const earlierHead = ({ last }: AuditHead): AuditHeadFields | null => (last && last.version !== HEAD_VERSION ? last : null);

/** The tree of the last head; empty if there is no head of this version. */
export const treeAfter = ({ last }: AuditHead): TreeBefore =>
  last?.version === HEAD_VERSION ? { size: last.size, position: last.position, peaks: last.peaks } : EMPTY;

type Signing = {
  readonly tenant: string;
  readonly at: string;
  readonly sign: (text: string) => { readonly signature: string; readonly key_id: string };
};

/** `leaves` follow the tree's last entry, in log order. No events if `leaves` is empty, or if a head already covers the first of them. */
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
