import { defineCommand } from 'citty';
import { createClient } from '../../client/create-client.ts';
import { printErrorLine, printLine } from '../../logging/print-line.ts';
import { finish } from '../../processes/exit.ts';
import { rejectUnknownArguments } from '../arguments.ts';
import { readClientConfig } from '../read-client-config.ts';
import { openBrowser } from './open-browser.ts';

/** The sign-in without access to the machine of the platform. It gives a person no more rights than the key has. */
export const clientLoginCommand = defineCommand({
  meta: { name: 'login', description: 'Check ANNALS_KEY, and print the address at which the console takes it' },
  args: { open: { type: 'boolean', description: 'Also open the address in the browser of this machine' } },
  setup: rejectUnknownArguments,
  run: async ({ args: { open } }) => {
    const { annalsUrl: url, annalsKey: key } = await readClientConfig();
    const { user } = await createClient({ url, key }).call('readMe');
    if (!user) throw new Error('ANNALS_KEY is the key of a runner: the console takes the key of a person');
    printLine(`${url}/console`);
    printLine(`The console takes the API key in ANNALS_KEY, and signs you in as ${user.email} with the rights of the key.`);
    if (open && !(await openBrowser(`${url}/console`)))
      printErrorLine('No browser could be opened on this machine: open the address in one.');
    await finish(0);
  },
});
