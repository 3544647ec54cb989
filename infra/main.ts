import { enableCompileCache } from 'node:module';
import packageJson from '../package.json' with { type: 'json' };
import { SERVICES } from './cli/systemd-unit.ts';
import { COMPILE_CACHE } from './compile-cache.ts';
import { watchOutput } from './logging/nonblocking-stdout.ts';
import { mainCommand } from './main-command.ts';
import { printError } from './processes/exit.ts';
import { runCli } from './run-cli.ts';
import { surviveOutages } from './unhandled-rejection.ts';

// The compile cache makes later starts faster. Node ignores a directory that is not writable.
enableCompileCache(COMPILE_CACHE);

const variableHelp = async (command: string): Promise<string | null> => {
  const service = SERVICES.find((name) => name === command);
  return service ? (await import('./cli/variable-help.ts')).variableHelp(service) : null;
};

watchOutput(printError);
surviveOutages(printError);
await runCli({ command: mainCommand, version: `annals ${packageJson.version}`, variableHelp }, process.argv.slice(2));
