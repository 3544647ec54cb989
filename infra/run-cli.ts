import { stripVTControlCharacters } from 'node:util';
import { type CommandDef, runCommand } from 'citty';
import { showOperationHelp } from './cli/api/api-command.ts';
import type { UsageError } from './cli/arguments.ts';
import { helpFor, rejectLeadingOptions, showUsage } from './cli/usage.ts';
import { printErrorLine } from './logging/print-line.ts';
import { fail, printError } from './processes/exit.ts';

const EXIT_USAGE = 2;

export type Cli = {
  readonly command: CommandDef;
  /** The name and the version, as `--version` prints them. */
  readonly version: string;
  /** Null if the command reads no variables. */
  readonly variableHelp?: (command: string) => Promise<string | null>;
};

const showHelp = async ({ command, variableHelp }: Cli, words: readonly string[]): Promise<void> => {
  if (words[0] === 'api' && words[1] && !words[1].startsWith('-')) return showOperationHelp(words[1]);
  await showUsage(words, command, process.stdout);
  const variables = await variableHelp?.(words[0] ?? '');
  if (variables) process.stdout.write(`${variables}\n`);
};

const run = async (cli: Cli, words: readonly string[]): Promise<void> => {
  const { command, version } = cli;
  if (words[0] === 'complete') {
    const { completeWords } = await import('./cli/api/shell-completion.ts');
    return completeWords(command, words);
  }
  if (words.some((word) => word === '--help' || word === '-h')) return showHelp(cli, words);
  if (words.length === 1 && /^(-v|--version)$/.test(words[0]!)) return void process.stdout.write(`${version}\n`);
  rejectLeadingOptions(words, command);
  await runCommand(command, { rawArgs: [...words] });
};

const reportFailure = async ({ command }: Cli, words: readonly string[], error: unknown): Promise<never> => {
  if (!(error instanceof Error && error.name === 'CLIError')) return fail(error);
  printError(stripVTControlCharacters(error.message));
  printErrorLine(`see: ${(error as UsageError).help ?? helpFor(words, command)}`);
  process.exit(EXIT_USAGE);
};

/** Ends the process if the command fails. */
export const runCli = (cli: Cli, words: readonly string[]): Promise<void> =>
  run(cli, words).catch((error: unknown) => reportFailure(cli, words, error));
