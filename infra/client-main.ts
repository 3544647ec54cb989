// The command `annals-client` of the package annals-client, for everything that uses a platform over the network.
import { defineCommand } from 'citty';
import packageJson from '../package.json' with { type: 'json' };
import { apiCommand } from './cli/api/api-command.ts';
import { triggerCommand } from './cli/deliveries/trigger-command.ts';
import { runnerCommand } from './cli/runner-command.ts';
import { clientLoginCommand } from './cli/sign-in/client-login-command.ts';
import { ignoreBrokenPipe, watchOutput } from './logging/nonblocking-stdout.ts';
import { finish, printError } from './processes/exit.ts';
import { runCli } from './run-cli.ts';

const command = defineCommand({
  meta: { name: 'annals-client', description: 'Use a running platform Annals' },
  subCommands: {
    runner: runnerCommand(async (options) => {
      ignoreBrokenPipe();
      const { runner } = await import('./runner/runner.ts');
      return finish(await runner(options));
    }),
    api: apiCommand,
    trigger: triggerCommand,
    login: clientLoginCommand,
  },
});

// The engines of package.json are only a warning of npm.
if (!('withResolvers' in Promise)) {
  printError(`Node 22 or later is needed (this is ${process.version})`);
  process.exit(1);
}
watchOutput(printError);
await runCli({ command, version: `annals-client ${packageJson.version}` }, process.argv.slice(2));
