import type { Recorded } from './event.ts';

/**
 * How the data of an event are encrypted ("sealed"). It is stored as `facts.sealed` in the metadata of the event. `v`
 * is the version of the format, and `kid` the id of the data key. If `facts.sealed` is absent, the data are not
 * encrypted.
 */
export type SealedWith = { readonly v: 1; readonly kid: string };

/** Returns how the data of an event are encrypted; undefined if they are not encrypted. */
export const sealedWith = ({ meta }: Pick<Recorded, 'meta'>): SealedWith | undefined => meta.facts?.sealed as SealedWith | undefined;
