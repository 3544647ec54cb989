import { printErrorLine } from '../../../logging/print-line.ts';

type Damage = Error & { readonly damagedAt: number };

/** A reader must not skip a damaged record as if it did not exist. */
export const damageError = (position: number): Error =>
  Object.assign(new Error(`the log is damaged at position ${position}: run "annals store verify"`), { damagedAt: position });

export const isDamage = (error: unknown): error is Damage => error instanceof Error && 'damagedAt' in error;

const reportedPositions = new Set<number>();

/** Writes the error to stderr, once for each damaged position. */
export const reportDamage = ({ damagedAt, message }: Damage): void => {
  if (reportedPositions.has(damagedAt)) return;
  reportedPositions.add(damagedAt);
  printErrorLine(`store: ${message}`);
};
