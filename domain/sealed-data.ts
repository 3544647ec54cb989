import type { Recorded } from './event.ts';

/**
 * How the data of an event are sealed (encrypted), as its metadata say in `facts.sealed`. `v` is the version of the
 * format, `kid` the id of the tenant's data key. The data of an event without this field are not sealed.
 */
export type SealedWith = { readonly v: 1; readonly kid: string };

/** Returns how the data of an event are sealed; undefined if they are not. */
export const sealedWith = ({ meta }: Pick<Recorded, 'meta'>): SealedWith | undefined => meta.facts?.sealed as SealedWith | undefined;
