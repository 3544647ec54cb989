import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { mountAuditExport } from '../api/audit-export.ts';
import { mountDeliveryBodies } from '../api/delivery.ts';
import { mountHooks } from '../api/hooks.ts';
import { operationsOf } from '../api/operations.ts';
import type { Operators } from '../api/ops.ts';
import { system } from '../api/system.ts';
import { issueKey } from '../commands/apikey.ts';
import type { MakeBrokerUser } from '../commands/runner-credential.ts';
import { tokenOf } from '../domain/event.ts';
import { Refusal } from '../domain/refusal.ts';
import { bootstrap } from '../infra/bootstrap.ts';
import { hookPorts } from '../infra/hooks/ports.ts';
import { readDelivery } from '../infra/hooks/stored.ts';
import type { Limiter } from '../infra/http/limits.ts';
import type { IssuerConfig } from '../infra/oidc/issuer.ts';
import { type SignInWays, signInWays } from '../infra/oidc/sign-in.ts';
import { hotOf, platform } from '../infra/platform.ts';
import { openVault } from '../infra/vault/vault.ts';
import { projections } from '../projections/all.ts';
import { memorySink } from '../projections/memory.ts';
import { memoryLog } from './memory-log.ts';
import { scratch } from './temp.ts';

export type Answer = { status: number; headers: Headers; body: unknown; text: string };

type Sent = { key?: string; body?: unknown; raw?: string | Uint8Array; headers?: Record<string, string> };

const nothing = async () => null;

/** There is no database in memory, so there is nothing that an operator could rebuild. */
const withoutDatabase: Operators = {
  statuses: async () => [],
  rebuild: nothing,
  rebuildOf: nothing,
  promote: nothing,
  abort: nothing,
  parked: nothing,
  retry: nothing,
  drift: async () => ({ at: new Date().toISOString(), projections: [] }),
};

type Options = {
  readonly limits?: Limiter;
  readonly issuer?: IssuerConfig;
  /** Who comes by a token, where no issuer has to be asked for it. */
  readonly verify?: SignInWays['verify'];
  readonly corsOrigins?: readonly string[];
  readonly operators?: (log: ReturnType<typeof memoryLog>) => Operators;
  readonly makeUser?: MakeBrokerUser;
};

const withoutBroker: MakeBrokerUser = async () => {
  throw new Refusal('not_configured', 'there is no broker in memory');
};

/**
 * The whole platform over a log in memory and the memory sink of its projections: what `app.request` answers is what a server would.
 * `close` ends it; `now` may be moved.
 */
export const inMemory = async ({
  limits,
  issuer = {},
  verify,
  operators = () => withoutDatabase,
  makeUser = withoutBroker,
  corsOrigins,
}: Options = {}) => {
  const { dir, clear } = scratch();
  const log = memoryLog();
  const sink = memorySink(projections);
  const logger = pino({ level: 'silent' });
  const clock = { now: Date.now };
  const views: { lateMs: number; until?: Promise<void> | undefined } = { lateMs: 0 };
  const following = log.follow({
    event: (event) => {
      const ready = views.until ?? (views.lateMs > 0 ? sleep(views.lateMs) : undefined);
      return ready ? ready.then(() => sink.feed([event])) : sink.feed([event]);
    },
  });
  const vault = await openVault({ log, masterKeyFile: join(dir, 'master.key') });
  const hot = hotOf(log);
  await hot.start();
  const ports = hookPorts({ log, vault, hot, logger, limits, now: () => new Date(clock.now()).toISOString() });
  const publicUrl = 'http://annals.test';
  const ways = await signInWays(issuer, { publicUrl, vault, logger, now: () => clock.now() });
  const signIn = verify ? { ...ways, verify } : ways;
  const address = () => '127.0.0.1';
  const storedDelivery = readDelivery(log);
  const operations = operationsOf({
    makeUser,
    storedDelivery,
    operators: operators(log),
  });
  const { app, host, systemContext, close } = platform({
    log,
    hot,
    vault,
    reads: sink.reads,
    logger,
    publicUrl,
    operations,
    signIn,
    plain: (hono, host) => {
      mountHooks(hono, { ports, address });
      mountDeliveryBodies(hono, host, storedDelivery);
      mountAuditExport(hono, host);
      system(hono, {
        readiness: async () => ({ ready: true, degraded: [] }),
        metrics: async () => ({ contentType: 'text/plain', text: '' }),
        mayReadMetrics: () => false,
        openapi: () => ({}),
        asyncapi: () => ({}),
        docsScript: async () => ({ gzip: new Uint8Array(), etag: '""' }),
      });
    },
    address,
    corsOrigins,
    ...(limits ? { limits } : {}),
    now: () => clock.now(),
  });
  let first = { key: '', tenant_id: '' };
  await bootstrap(log, systemContext(), undefined, (shown) => {
    first = shown;
  });

  const send = async (method: string, path: string, { key = first.key, body, raw, headers = {} }: Sent = {}): Promise<Answer> => {
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await app.request(path, {
      method,
      headers: {
        ...(key ? { authorization: `Bearer ${key}` } : {}),
        ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(sent === undefined ? {} : { body: sent as never }),
    });
    const text = await response.text();
    const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
    return { status: response.status, headers: response.headers, text, body: isJson && text ? JSON.parse(text) : text };
  };

  /** A key that acts as a user in a tenant. */
  const keyOf = async (tenant_id: string, owner_id: string): Promise<string> =>
    (await issueKey(systemContext(tenant_id), { kind: 'tenant', tenant_id, agent_id: null, owner_id }, { name: 'Test', expires_at: null }))
      .state.key;

  /** Waits until the read models have what the log has now. */
  const settled = async (): Promise<void> => {
    const last = tokenOf(log.events.at(-1)!.position);
    await sink.reads.passed('audit', last);
  };

  return {
    app,
    keyOf,
    operations,
    host,
    log,
    sink,
    vault,
    hot,
    clock,
    /** By how many milliseconds each event reaches the views late. */
    views,
    send,
    settled,
    /** Records what was refused so far, which is done behind the answers. */
    refusalsRecorded: close,
    systemContext,
    /** What the projections could not apply: nothing, in a test that does not ask for it. */
    unapplied: () =>
      projections.flatMap(({ name }) => sink.unapplied(name).map(({ event, reason }) => `${name}: ${event.type}: ${reason}`)),
    eventsOf: (...types: string[]) => log.events.filter(({ type }) => types.includes(type)),
    ...first,
    tenant: `/tenant/${first.tenant_id}`,
    close: async () => {
      await ports.close();
      await close();
      await hot.close();
      await following.stop();
      clear();
    },
  };
};
