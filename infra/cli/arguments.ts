import type { ArgsDef, CommandContext, CommandDef } from 'citty';

/** A use of the command line that is shown how it is meant. */
export const usageError = (message: string): Error => Object.assign(new Error(message), { name: 'CLIError' });

const camel = (name: string): string => name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());

const definitionsOf = <T extends ArgsDef>(command: CommandDef<T>): ArgsDef => (command.args as ArgsDef | undefined) ?? {};

/** An option at the end of the line, before another one, or with a variable that is not set has no value, which is never what was meant. */
const isMissing = (value: unknown): boolean => typeof value === 'string' && (value.trim() === '' || value.startsWith('--'));

/** citty lets unknown options, empty values and extra words pass; what is mistyped must not start something else. */
export const rejectUnknownArguments = <T extends ArgsDef>({ args, cmd }: CommandContext<T>): void => {
  const defined = Object.entries(definitionsOf(cmd));
  const known = ['_', ...defined.flatMap(([name]) => [name, camel(name)])];
  const unknown = Object.keys(args).find((name) => !known.includes(name));
  if (unknown) throw usageError(`Unknown option --${unknown}`);
  const positional = defined.filter(([, { type }]) => type === 'positional').length;
  if (args._.length > positional) throw usageError(`Unexpected argument ${args._[positional]}`);
  const empty = defined.find(([name, { type }]) => type === 'string' && isMissing(args[name]));
  if (empty) throw usageError(`--${empty[0]} needs a value`);
};

export const portOf = (value: string): number => {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535) throw usageError('--port must be a port number');
  return Number(value);
};

export const countOf = (value: string): number => {
  if (!/^[1-9]\d{0,2}$/.test(value)) throw usageError('--concurrency must be a number from 1 to 999');
  return Number(value);
};
