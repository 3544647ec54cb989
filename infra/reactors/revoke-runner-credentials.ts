import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type * as Agent from '../../domain/agents/agent.ts';
import type { Position, Recorded } from '../../domain/event.ts';
import type * as ApiKey from '../../domain/identity/api-key.ts';
import type * as User from '../../domain/identity/user.ts';
import { MAX_LIFETIME_SECONDS, type RunnerCredentialEvent } from '../../domain/runners/runner-credential.ts';
import type * as Tenant from '../../domain/tenants/tenant.ts';
import type { Log } from '../eventstore/event-log.ts';
import { type AccountParts, openAccount } from '../nats/account.ts';

type Any = RunnerCredentialEvent | ApiKey.ApiKeyEvent | Agent.AgentEvent | Tenant.TenantEvent | User.UserEvent;
type Issued = Recorded<Extract<Any, { type: 'RunnerCredentialIssued' }>>;

const membership = (tenant: string, user: unknown): string => `${tenant}/${user}`;

type Told = Recorded<Any>;
const itself = ({ id }: Told): string => id;
const member = ({ id, data }: Told): string => membership(id, (data as { user_id: string }).user_id);

type CauseOf = Partial<Record<Any['type'], (event: Told) => string>>;

/** The events by which something ends that credentials stand and fall with, and what it is. */
const REVOKING_EVENTS = {
  RunnerCredentialRevoked: itself,
  ApiKeyRevoked: itself,
  AgentDeleted: itself,
  TenantSuspended: itself,
  TenantClosed: itself,
  UserSuspended: itself,
  MemberRemoved: member,
} satisfies CauseOf;

/** Those by which it is there again: for credentials to come, not for those that it ended. */
const REINSTATING_EVENTS = { AgentRestored: itself, TenantResumed: itself, UserResumed: itself, MemberAdded: member } satisfies CauseOf;

const eventTypes = ['RunnerCredentialIssued', ...Object.keys(REVOKING_EVENTS), ...Object.keys(REINSTATING_EVENTS)];
const RETRY_MS = 1_000;

/** A credential that may still be in use, and what it stands and falls with. */
type Living = { readonly publicKey: string; readonly expires: number; readonly causes: readonly string[] };

/** Itself, its tenant, its agent, the key that asked for it, and whoever made that. */
const causesOf = ({ id, tenant, actor, data: { agent_id, owner_id } }: Issued): string[] => [
  id,
  tenant,
  agent_id,
  ...(actor.key_id ? [actor.key_id] : []),
  ...(owner_id ? [owner_id, membership(tenant, owner_id)] : []),
];

const MAX_LIFETIME_MS = MAX_LIFETIME_SECONDS * 1_000;

/** Takes away from the front, which is the oldest, what is over. */
const shed = <T>(map: Map<string, T>, isOver: (one: T) => boolean): void => {
  for (const [id, one] of map) {
    if (!isOver(one)) return;
    map.delete(id);
  }
};

/** Which of the credentials of the last hour are void, from the events that made and ended them. What is older is forgotten. */
export const revocationList = () => {
  const living = new Map<string, Living>();
  /** When what a credential stands and falls with came to its end. */
  const ended = new Map<string, number>();
  const shedUntil = (now: number): void => {
    shed(living, ({ expires }) => expires < now);
    shed(ended, (at) => at < now - MAX_LIFETIME_MS);
  };
  const issued = (event: Issued): boolean => {
    const { public_key, expires_at } = event.data;
    const causes = causesOf(event);
    living.set(event.id, { publicKey: public_key, expires: Date.parse(expires_at), causes });
    return causes.some((cause) => ended.has(cause));
  };
  /** Those that live fall for good, each by itself: what ended them may begin again. */
  const struck = (cause: string, at: number): boolean => {
    const fallen = [...living].filter(([, { causes }]) => causes.includes(cause)).map(([id]) => id);
    for (const id of [cause, ...fallen]) {
      ended.delete(id);
      ended.set(id, at);
    }
    return fallen.length > 0;
  };
  return {
    /** True where the event makes a credential void. */
    take: (event: Told): boolean => {
      const at = Date.parse(event.at);
      shedUntil(at);
      if (event.type === 'RunnerCredentialIssued') return issued(event as Issued);
      const begun = (REINSTATING_EVENTS as CauseOf)[event.type]?.(event);
      if (begun !== undefined) ended.delete(begun);
      const cause = (REVOKING_EVENTS as CauseOf)[event.type]?.(event);
      return cause !== undefined && struck(cause, at);
    },
    /** The void ones that have not expired by themselves, by public key; void from this second on. */
    current: (now: number): Record<string, number> => {
      shedUntil(now);
      const dead = [...living.values()].filter(({ expires, causes }) => expires >= now && causes.some((cause) => ended.has(cause)));
      return Object.fromEntries(dead.map(({ publicKey }) => [publicKey, Math.floor(now / 1_000)]));
    },
  };
};

/** What is older ended by itself: no credential lives longer. */
const anHourAgo = async (log: Log): Promise<Position | undefined> => {
  const since = new Date(Date.now() - MAX_LIFETIME_MS).toISOString();
  for await (const event of log.readAll({ backwards: true })) if (event.at < since) return event.position;
  return undefined;
};

/** Repeats what fails until it is done or the signal comes. */
const untilDone = async <T>(work: () => Promise<T>, signal: AbortSignal, failed: (error: Error) => void): Promise<T | null> => {
  while (!signal.aborted) {
    try {
      return await work();
    } catch (error) {
      if (!signal.aborted) failed(error as Error);
      await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
    }
  }
  return null;
};

type Account = NonNullable<Awaited<ReturnType<typeof openAccount>>>;

/** Keeps the account's list what the log says. `again`: what to wait for before it is told once more. */
const keepTold = async (
  account: Account,
  list: ReturnType<typeof revocationList>,
  again: () => Promise<void>,
  signal: AbortSignal,
  logger: Logger,
): Promise<void> => {
  const told = () => account.revoke(list.current(Date.now()));
  while (!signal.aborted) {
    const next = again();
    await untilDone(told, signal, ({ message }) => logger.warn({ error: message }, 'credentials are not revoked yet'));
    await next;
  }
};

/**
 * Ends broker connections whose credential, runner key, agent or tenant is no more, or whose tenant or owner may do nothing any more, within a
 * moment of the event. On a cluster of somebody else's that can't be done with the account's key alone: there credentials end when they expire.
 */
export const startCredentialRevoker = (parts: AccountParts & { log: Log; logger: Logger }): { close: () => Promise<void> } => {
  const { log, logger } = parts;
  const control = new AbortController();
  const { signal } = control;
  const list = revocationList();
  let wake = Promise.withResolvers<void>();
  const push = (): void => wake.resolve();
  const again = (): Promise<void> => {
    wake = Promise.withResolvers();
    return wake.promise;
  };

  const live = async (): Promise<void> => {
    const account = await openAccount(parts, push);
    if (!account) return logger.info('runner credentials can not be revoked on this broker; they end within the hour');
    const from = await untilDone(
      async () => ({ position: await anHourAgo(log) }),
      signal,
      () => {},
    );
    const subscription = log.follow({
      from: from?.position,
      filter: { eventTypes },
      event: (event) => void (list.take(event as Told) && push()),
      caughtUp: push,
    });
    await keepTold(account, list, again, signal, logger);
    await subscription.stop();
    await account.close();
  };

  const living = live().catch((error: Error) => logger.error({ error: error.message }, 'credentials can not be revoked'));
  return {
    close: async () => {
      control.abort();
      push();
      await living;
    },
  };
};
