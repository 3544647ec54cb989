import { enableCompileCache } from 'node:module';
import { stripVTControlCharacters } from 'node:util';
import { runCommand } from 'citty';
import packageJson from '../package.json' with { type: 'json' };
import { showOperationHelp } from './cli/api/api-command.ts';
import type { UsageError } from './cli/arguments.ts';
import { SERVICES } from './cli/systemd-unit.ts';
import { helpFor, rejectLeadingOptions, showUsage } from './cli/usage.ts';
import { watchOutput } from './logging/nonblocking-stdout.ts';
import { printErrorLine } from './logging/print-line.ts';
import { mainCommand } from './main-command.ts';
import { COMPILE_CACHE } from './processes/compile-cache.ts';
import { fail, printError } from './processes/exit.ts';
import { surviveOutages } from './unhandled-rejection.ts';

const EXIT_USAGE = 2;

// The compile cache makes later starts faster. If its directory is not writable, Node caches nothing and reports no
// error.
enableCompileCache(COMPILE_CACHE);

const showHelp = async (words: string[]): Promise<void> => {
  if (words[0] === 'api' && words[1] && !words[1].startsWith('-')) return showOperationHelp(words[1]);
  await showUsage(words, mainCommand, process.stdout);
  const service = SERVICES.find((name) => name === words[0]);
  if (!service) return;
  const { variableHelp } = await import('./cli/variable-help.ts');
  process.stdout.write(`${variableHelp(service)}\n`);
};

const runCli = async (words: string[]): Promise<void> => {
  if (words[0] === 'complete') {
    const { completeWords } = await import('./cli/api/shell-completion.ts');
    return completeWords(mainCommand, words);
  }
  if (words.some((word) => word === '--help' || word === '-h')) return showHelp(words);
  if (words.length === 1 && /^(-v|--version)$/.test(words[0]!)) return void process.stdout.write(`annals ${packageJson.version}\n`);
  rejectLeadingOptions(words, mainCommand);
  await runCommand(mainCommand, { rawArgs: words });
};

const reportFailure = async (words: readonly string[], error: unknown): Promise<never> => {
  if (!(error instanceof Error && error.name === 'CLIError')) return fail(error);
  printError(stripVTControlCharacters(error.message));
  printErrorLine(`see: ${(error as UsageError).help ?? helpFor(words, mainCommand)}`);
  process.exit(EXIT_USAGE);
};

watchOutput(printError);
surviveOutages(printError);
const words = process.argv.slice(2);
await runCli(words).catch((error: unknown) => reportFailure(words, error));
