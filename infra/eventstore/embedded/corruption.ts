type Damage = Error & { readonly damagedAt: number };

/** A record that is not what was written: whoever needs it is told so, and nobody goes past it as if it were not there. */
export const damageError = (position: number): Error =>
  Object.assign(new Error(`the log is damaged at position ${position}: run "annals store verify"`), { damagedAt: position });

export const isDamage = (error: unknown): error is Damage => error instanceof Error && 'damagedAt' in error;

const said = new Set<number>();

/** Says once of each place that it was met. */
export const reportDamage = ({ damagedAt, message }: Damage): void => {
  if (said.has(damagedAt)) return;
  said.add(damagedAt);
  process.stderr.write(`store: ${message}\n`);
};
