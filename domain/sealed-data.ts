import type { Recorded } from './event.ts';

/**
 * How the data of an event are encrypted ("sealed"), in its metadata as `facts.sealed`; absent if they are not. `v`: version of the
 * format; `kid`: id of the data key.
 */
export type SealedWith = { readonly v: 1; readonly kid: string };

export const sealedWith = ({ meta }: Pick<Recorded, 'meta'>): SealedWith | undefined => meta.facts?.sealed as SealedWith | undefined;
