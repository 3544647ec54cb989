import { defineCommand } from 'citty';
import { rejectUnknownArguments } from '../arguments.ts';
import { runOnPlatform } from '../command-runs.ts';

export const loginCommand = defineCommand({
  meta: { name: 'login', description: 'Print a link that signs a browser in to the console once' },
  args: {
    user: { type: 'string', description: 'E-mail address of the user (default: the first active super-admin)' },
    open: { type: 'boolean', description: 'Also open the link in the browser of this machine' },
  },
  setup: rejectUnknownArguments,
  run: async ({ args: { user, open } }) => {
    const { printSignInLink } = await import('./sign-in-links.ts');
    await runOnPlatform((config) => printSignInLink(config, { user, open: open === true }));
  },
});
