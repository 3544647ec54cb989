import { addToShare, type FairShare, fitsShare, hasSpace, largestShare, newFairShare } from '../threads/fair-share.ts';
import type { SpoolLimits, SpoolUse } from './spool-file.ts';
import type { SealedEntry } from './spooled-delivery.ts';

/** A tenant gets at most this part of what the other tenants leave of the spool, so it cannot fill the spool. */
const TENANT_PART = 1 / 4;
/** Small deliveries get more: a tenant whose large deliveries have used up its share can still get small ones. */
const TENANT_PART_FOR_SMALL = 1 / 2;
const SMALL_BYTES = 64 * 1024;

/** What the waiting deliveries of each tenant use. `refused` counts deliveries beyond the tenant's share. */
export type SpoolShares = { readonly rows: FairShare; readonly bytes: FairShare; refused: number };

export const openShares = (limits: SpoolLimits, uses: readonly (SpoolUse & { readonly rows: number })[]): SpoolShares => {
  const shares: SpoolShares = { rows: newFairShare(limits.rows), bytes: newFairShare(limits.bytes), refused: 0 };
  for (const { tenant, rows, bytes } of uses) change(shares, tenant, rows, bytes);
  return shares;
};

const change = (shares: SpoolShares, tenant: string, rows: number, bytes: number): void => {
  addToShare(shares.rows, tenant, rows);
  addToShare(shares.bytes, tenant, bytes);
};

type Sealed = Pick<SealedEntry, 'tenant' | 'content'>;

export const addToShares = (shares: SpoolShares, { tenant, content }: Sealed): void => change(shares, tenant, 1, content.length);
export const removeFromShares = (shares: SpoolShares, { tenant, bytes }: SpoolUse): void => change(shares, tenant, -1, -bytes);

/** Returns for each row whether it fits into the share of its tenant, together with the rows before it. */
export const fittingIn = (shares: SpoolShares, sealed: readonly Sealed[]): boolean[] => {
  const fits: boolean[] = [];
  for (const one of sealed) {
    const part = one.content.length <= SMALL_BYTES ? TENANT_PART_FOR_SMALL : TENANT_PART;
    const isFitting = fitsShare(shares.rows, one.tenant, 1, part) && fitsShare(shares.bytes, one.tenant, one.content.length, part);
    if (isFitting) addToShares(shares, one);
    else if (hasSpace(shares.rows, 1) && hasSpace(shares.bytes, one.content.length)) shares.refused++;
    fits.push(isFitting);
  }
  // A delivery is counted only when it is written: it may be known already, or the disk may be full.
  for (const [index, { tenant, content }] of sealed.entries()) if (fits[index]) removeFromShares(shares, { tenant, bytes: content.length });
  return fits;
};

/** `largestBytes` is the size of the deliveries of the tenant with most of them. */
export type SharesStatus = { readonly largestBytes: number; readonly refusedShares: number };

export const sharesStatus = ({ bytes, refused }: SpoolShares): SharesStatus => ({
  largestBytes: largestShare(bytes),
  refusedShares: refused,
});
