import { issueSignInLink, LINK_TTL_MINUTES } from '../../commands/identity/sign-in-link.ts';
import { Email } from '../../domain/fields.ts';
import type { Config } from '../config.ts';
import { openLog } from '../eventstore/client.ts';
import { signInUrl } from '../listen-url.ts';
import { locateServices } from './locate-services.ts';
import { openOperatorContext } from './operator-context.ts';

/** The actor of the recorded event. The operator who runs the command is not a user of the platform. */
const ACTOR = { kind: 'system', id: 'annals login' } as const;

/**
 * Prints a link that signs in a browser once, as the user with this e-mail address or, without an address, as the
 * platform's own super-admin.
 * @returns the exit code
 * @throws Error with a one-line message for the operator, Refusal not_found
 */
export const printSignInLink = async (config: Config, user: string | undefined): Promise<number> => {
  const email = user === undefined ? undefined : Email.safeParse(user).data;
  if (user !== undefined && email === undefined) throw new Error('--user must be an e-mail address');
  const log = openLog(locateServices(config).eventstoreUrl);
  try {
    const ctx = await openOperatorContext(log, config.masterKeyFile, ACTOR);
    console.log(signInUrl(config.publicUrl, await issueSignInLink(ctx, email)));
    console.log(`Opens the console once, within ${LINK_TTL_MINUTES} minutes. Whoever has the link is signed in.`);
    return 0;
  } finally {
    await log.close();
  }
};
