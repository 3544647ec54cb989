import { issueSignInLink, issueSuperAdminLink, LINK_TTL_MINUTES } from '../../../commands/identity/sign-in-link.ts';
import { Email } from '../../../domain/fields.ts';
import type { Config } from '../../config.ts';
import { openLog } from '../../eventstore/client.ts';
import type { Log } from '../../eventstore/event-log.ts';
import { signInUrl } from '../../listen-url.ts';
import { printErrorLine, printLine } from '../../logging/print-line.ts';
import { locateServices, publicUrlOf } from '../locate-services.ts';
import { openOperatorContext } from '../operator-context.ts';
import { openBrowser } from './open-browser.ts';

/** The operator who runs the command is not a user of the platform. */
const ACTOR = { kind: 'system', id: 'annals login' } as const;

type LoginOptions = { readonly user?: string | undefined; readonly open: boolean };

/** Returns the ids of all users who have ever become super-admins, in the order in which they did. */
const formerAndPresentSuperAdmins = async (log: Log): Promise<readonly string[]> => {
  const ids = new Set<string>();
  const { promise: isRead, resolve } = Promise.withResolvers<void>();
  const filter = { eventTypes: ['SuperAdminGranted'] };
  const subscription = log.follow({ filter, event: ({ id }) => void ids.add(id), caughtUp: resolve });
  const failure = await Promise.race([isRead, subscription.failure]);
  await subscription.stop();
  if (failure) throw failure;
  return [...ids];
};

/**
 * The link signs in once, as the user with this e-mail address or, without one, the first active super-admin. Returns the exit code.
 * @throws Error with a one-line message for the operator, Refusal not_found
 */
export const printSignInLink = async (config: Config, { user, open }: LoginOptions): Promise<number> => {
  const email = user === undefined ? undefined : Email.safeParse(user).data;
  if (user !== undefined && email === undefined) throw new Error('--user must be an e-mail address');
  const log = openLog(locateServices(config).eventstoreUrl);
  try {
    const ctx = await openOperatorContext(log, config.masterKeyFile, ACTOR);
    const issued = email
      ? { email, code: await issueSignInLink(ctx, email) }
      : await issueSuperAdminLink(ctx, () => formerAndPresentSuperAdmins(log));
    const url = signInUrl(publicUrlOf(config), issued.code);
    printLine(url);
    printLine(`Opens the console once as ${issued.email}, within ${LINK_TTL_MINUTES} minutes. Anyone who has the link is signed in.`);
    if (open && !(await openBrowser(url))) printErrorLine('No browser could be opened on this machine: open the link in one yourself.');
    return 0;
  } finally {
    await log.close();
  }
};
