/**
 * The level of a finding. `ok`: the part works. `warn`: it works, but something should be changed. `fail`: it does not
 * work. `none`: it was not checked, or does not exist yet, which is not a problem.
 */
export type Level = 'ok' | 'warn' | 'fail' | 'none';

/** The result of one check. `advice` says what to do; null if there is nothing to do. */
export type Result = { readonly level: Level; readonly message: string; readonly advice: string | null };
export type Finding = Result & { readonly part: string };

export const ok = (message: string): Result => ({ level: 'ok', message, advice: null });
export const none = (message: string): Result => ({ level: 'none', message, advice: null });
export const warn = (message: string, advice: string): Result => ({ level: 'warn', message, advice });
export const fail = (message: string, advice: string): Result => ({ level: 'fail', message, advice });

const LABELS = { ok: 'ok  ', warn: 'warn', fail: 'FAIL', none: '--  ' } as const satisfies Record<Level, string>;

/** Returns a finding as text for people. The advice is on a second line. */
export const findingText = ({ part, level, message, advice }: Finding): string =>
  `${LABELS[level]}  ${part.padEnd(12)} ${message}${advice ? `\n      -> ${advice}` : ''}`;
