import type { ArgsDef, CommandContext, CommandDef } from 'citty';

export type UsageError = Error & { readonly help?: string | undefined };

/** The CLI prints the message and the command that shows more (default: the command's help), and exits with code 2. */
export const usageError = (message: string, help?: string): UsageError => Object.assign(new Error(message), { name: 'CLIError', help });

export const JSON_OPTION = { type: 'boolean', description: 'Print the result as JSON' } as const;

export const VERBOSE_OPTION = { type: 'boolean', description: 'Print all, not only a few examples' } as const;

const camel = (name: string): string => name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());

const argumentsOf = <T extends ArgsDef>(command: CommandDef<T>): ArgsDef => (command.args as ArgsDef | undefined) ?? {};

/** The value was omitted, or is a shell variable that is not set: it is empty, or it is the next option. */
const isMissing = (value: unknown): boolean => typeof value === 'string' && (value.trim() === '' || value.startsWith('--'));

/**
 * The library citty accepts unknown options, empty values and extra words, and would run something unintended.
 * @throws a usage error
 */
export const rejectUnknownArguments = <T extends ArgsDef>({ args, cmd }: CommandContext<T>, moreWords = 0): void => {
  const defined = Object.entries(argumentsOf(cmd));
  const known = ['_', ...defined.flatMap(([name]) => [name, camel(name)])];
  const unknown = Object.keys(args).find((name) => !known.includes(name));
  if (unknown) throw usageError(`Unknown option --${unknown}`);
  const positional = defined.filter(([, { type }]) => type === 'positional').length;
  if (args._.length > positional + moreWords) throw usageError(`Unexpected argument ${args._[positional]}`);
  const empty = defined.find(([name, { type }]) => type === 'string' && isMissing(args[name]));
  if (empty) throw usageError(`--${empty[0]} needs a value`);
};

/** Like `rejectUnknownArguments`, for a command whose last positional argument may occur several times. */
export const rejectUnknownOptions = <T extends ArgsDef>(context: CommandContext<T>): void =>
  rejectUnknownArguments(context, Number.POSITIVE_INFINITY);

/** Port 0 lets the operating system choose. @throws a usage error if the text is not a port number */
export const portOf = (value: string): number => {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535) throw usageError('--port must be a port number');
  return Number(value);
};

/** @throws a usage error if the text is not an integer from 1 to `max` */
const countOf = (option: string, value: string, max: number): number => {
  if (!/^[1-9]\d{0,15}$/.test(value) || Number(value) > max) throw usageError(`--${option} must be a number from 1 to ${max}`);
  return Number(value);
};

const [MAX_CONCURRENCY, MAX_RUNS, MAX_TIMEOUT_SECONDS] = [999, 1_000_000_000, 86_400];

type RunnerArguments = { concurrency: string; timeout?: string | undefined; once?: boolean | undefined; max?: string | undefined };

/** @throws a usage error */
export const runnerLimits = ({ concurrency, timeout, once, max }: RunnerArguments) => {
  if (once && max !== undefined) throw usageError('--once cannot be combined with --max');
  return {
    concurrency: countOf('concurrency', concurrency, MAX_CONCURRENCY),
    max: once ? 1 : max === undefined ? undefined : countOf('max', max, MAX_RUNS),
    timeoutMs: timeout === undefined ? undefined : 1_000 * countOf('timeout', timeout, MAX_TIMEOUT_SECONDS),
  };
};

export const isWebUrl = (text: string): boolean => /^https?:\/\//.test(text) && URL.canParse(text);
