import type { Logger } from 'pino';
import {
  createRevocationList,
  MAX_LIFETIME_MS,
  type RecordedAccessEvent,
  type RevocationList,
  revocationEventTypes,
} from '../../commands/runners/revoke-runner-credentials.reactor.ts';
import { createBackoff } from '../backoff.ts';
import type { Log } from '../eventstore/event-log.ts';
import { type Account, type AccountParts, openAccount } from '../nats/nats-account.ts';
import type { Reactor, Running } from '../reactors/reactor.ts';
import { positionBefore } from '../reactors/resume-position.ts';
import { createUntilDone } from '../reactors/until-done.ts';

const RETRY = { minMs: 1_000, maxMs: 1_000 };

/** Repeats `work` every second until it succeeds. Returns undefined if the signal is aborted first. */
const retryUntilDone = <T>(work: () => Promise<T>, signal: AbortSignal, onFailure: (error: Error) => void): Promise<T | undefined> =>
  createUntilDone({ signal, retry: createBackoff(RETRY), onFailure })(work);

/** One part of the program raises the flag, another waits for it. Raising it twice has no effect. */
const createWakeUp = () => {
  let raised = Promise.withResolvers<void>();
  return {
    raise: (): void => raised.resolve(),
    /** Lowers the flag. Resolves when it is raised again. */
    next: (): Promise<void> => {
      raised = Promise.withResolvers();
      return raised.promise;
    },
  };
};

type Publication = {
  readonly account: Account;
  readonly list: RevocationList;
  /** The public keys that the broker is known to refuse. */
  readonly refused: Set<string>;
  /** Raised when the list of revoked credentials must be sent to the broker again. */
  readonly changed: ReturnType<typeof createWakeUp>;
  readonly signal: AbortSignal;
  readonly logger: Logger;
};

/**
 * Sends the list of revoked credentials to the broker if it contains new ones. A needless update does harm: while nats-server applies it,
 * it can drop a message on its way to a runner, which then comes again only after the acknowledgement timeout.
 */
const revokeNew = async ({ account, list, refused }: Publication): Promise<void> => {
  const revoked = list.current(Date.now());
  const keys = Object.keys(revoked);
  if (keys.every((key) => refused.has(key))) return;
  await account.revoke(revoked);
  refused.clear();
  for (const key of keys) refused.add(key);
};

const publishList = async (publication: Publication): Promise<void> => {
  const { changed, signal, logger } = publication;
  const revoke = () => revokeNew(publication);
  while (!signal.aborted) {
    const next = changed.next();
    await retryUntilDone(revoke, signal, ({ message }) =>
      logger.warn({ error: message }, 'the broker did not accept the revoked credentials; trying again'),
    );
    await next;
  }
};

type Services = { readonly config: AccountParts; readonly log: Log; readonly logger: Logger };

const start = ({ config, log, logger }: Services): Running => {
  const closing = new AbortController();
  const { signal } = closing;
  const list = createRevocationList();
  const changed = createWakeUp();
  const refused = new Set<string>();
  /** The broker may have restarted without its revocations. */
  const forget = (): void => {
    refused.clear();
    changed.raise();
  };

  const run = async (): Promise<void> => {
    const account = await openAccount(config, forget);
    if (!account) return logger.info('runner credentials cannot be revoked on this broker; they expire within an hour');
    const start = await retryUntilDone(
      async () => ({ position: await positionBefore(log, MAX_LIFETIME_MS, signal) }),
      signal,
      () => {},
    );
    if (!start) return account.close();
    const subscription = log.follow({
      from: start.position,
      filter: { eventTypes: revocationEventTypes },
      event: (event) => {
        if (list.apply(event as RecordedAccessEvent)) changed.raise();
      },
      caughtUp: changed.raise,
    });
    await publishList({ account, list, refused, changed, signal, logger });
    await subscription.stop();
    await account.close();
  };

  const running = run().catch((error: Error) => logger.error({ error: error.message }, 'runner credentials cannot be revoked'));
  return {
    close: async () => {
      closing.abort();
      changed.raise();
      await running;
    },
  };
};

/**
 * Closes the broker connections of credentials that are revoked, or whose API key, agent, tenant, owner or membership has ended. Needs the
 * operator key of the embedded server; with any other broker, credentials are valid until they expire.
 */
export const credentialRevocations: Reactor<Services> = { name: 'credential revocations', start };
