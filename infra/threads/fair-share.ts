/** Something that tenants share, such as memory. An owner gets at most a part of what the others leave, so some is always left. */
export type FairShare = { max: number; used: number; readonly ofOwner: Map<string, number> };

export const newFairShare = (max: number): FairShare => ({ max, used: 0, ofOwner: new Map() });

export const usedBy = ({ ofOwner }: FairShare, owner: string): number => ofOwner.get(owner) ?? 0;

export const hasSpace = ({ max, used }: FairShare, amount: number): boolean => used + amount <= max;

/** `part` is of what the others leave. An owner that uses nothing yet may use as much as there is. */
export const fitsShare = (share: FairShare, owner: string, amount: number, part: number): boolean => {
  const own = usedBy(share, owner);
  if (!hasSpace(share, amount)) return false;
  return own === 0 || own + amount <= (share.max - (share.used - own)) * part;
};

/** A negative amount frees part of the share. */
export const addToShare = (share: FairShare, owner: string, amount: number): void => {
  const own = usedBy(share, owner) + amount;
  share.used += amount;
  if (own > 0) share.ofOwner.set(owner, own);
  else share.ofOwner.delete(owner);
};

export const largestShare = ({ ofOwner }: FairShare): number => ofOwner.values().reduce((most, one) => Math.max(most, one), 0);
