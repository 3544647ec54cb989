import { withinTime } from '../../commands/within-time.ts';

/** `warn`: the part works, but something should be changed. `none`: not checked, or does not exist yet; no problem. */
export type Level = 'ok' | 'warn' | 'fail' | 'none';

/** The name ends with the unit, such as `age_seconds`. */
export type Figures = Readonly<Record<string, number>>;

/**
 * `advice` says what to do; null if nothing. `isUnknown`: whether the part works is not known, because the service from which
 * this is read does not answer.
 */
export type Result = {
  readonly level: Level;
  readonly message: string;
  readonly advice: string | null;
  readonly figures?: Figures;
  readonly isUnknown?: true;
};
export type Finding = Result & { readonly part: string };

export const ok = (message: string): Result => ({ level: 'ok', message, advice: null });
export const none = (message: string): Result => ({ level: 'none', message, advice: null });
export const warn = (message: string, advice: string): Result => ({ level: 'warn', message, advice });
export const fail = (message: string, advice: string): Result => ({ level: 'fail', message, advice });
export const unknown = (message: string, advice: string): Result => ({ ...fail(message, advice), isUnknown: true });

const LABELS = { ok: 'ok  ', warn: 'warn', fail: 'FAIL', none: '--  ' } as const satisfies Record<Level, string>;

export const findingLines = ({ part, level, message, advice }: Finding): string[] => [
  `${LABELS[level]}  ${part.padEnd(12)} ${message}`,
  ...(advice ? [`      -> ${advice}`] : []),
];

/** The first line of the message or, if that contains a system error such as `connect ECONNREFUSED`, only that. */
export const reasonOf = (error: unknown): string => {
  const [line = ''] = String((error as Error).message).split('\n', 1);
  return /connect E[A-Z]+ [^\s]*[^\s.]/.exec(line)?.[0] ?? line;
};

/**
 * `adviceFor` says what to do about an error whose cause it knows; null otherwise. `isReadElsewhere`: the state of the part is
 * read from another service. Without its answer, it is not known.
 */
export type Examined = {
  readonly part: string;
  readonly downAdvice: string;
  readonly timeoutMs: number;
  readonly adviceFor?: ((error: unknown) => string | null) | undefined;
  readonly isReadElsewhere?: boolean;
};

/** If the check throws or takes too long, the part is down. `downAdvice` is used if the cause is not known. */
export const examine = async (
  { part, downAdvice, timeoutMs, adviceFor = () => null, isReadElsewhere = false }: Examined,
  check: () => Promise<Result>,
): Promise<Finding> => {
  const found = await withinTime(check(), timeoutMs);
  if (!(found instanceof Error)) return { part, ...found };
  return { part, ...(isReadElsewhere ? unknown : fail)(reasonOf(found), adviceFor(found) ?? downAdvice) };
};
