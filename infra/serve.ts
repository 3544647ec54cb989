import { setTimeout as sleep } from 'node:timers/promises';
import type { Hono } from 'hono';
import type { Logger } from 'pino';
import { asyncapi } from '../api/asyncapi.ts';
import { mountAuditExport } from '../api/audit-export.ts';
import { mountDeliveryBodies } from '../api/delivery.ts';
import { mountHooks } from '../api/hooks.ts';
import type { Host } from '../api/mount.ts';
import { openapi } from '../api/openapi.ts';
import { operationsOf } from '../api/operations.ts';
import { plainPaths } from '../api/plain.ts';
import { type Readiness, system } from '../api/system.ts';
import packageJson from '../package.json' with { type: 'json' };
import { projections } from '../projections/all.ts';
import { bootstrap, type FirstKey } from './bootstrap.ts';
import type { Config } from './config.ts';
import { openLog } from './eventstore/client.ts';
import { type Log, LogError } from './eventstore/log.ts';
import { hookPorts } from './hooks/ports.ts';
import { readDelivery } from './hooks/stored.ts';
import { clientAddress, fromHere } from './http/address.ts';
import { docsScript } from './http/docs.ts';
import { limiter, POLICIES } from './http/limits.ts';
import { listen } from './http/listen.ts';
import { openMetrics } from './http/metrics.ts';
import { sharing } from './http/sharing.ts';
import { damageTold, loggerOf } from './logging.ts';
import { brokerLater } from './nats/broker.ts';
import { brokerUsers } from './nats/credentials.ts';
import { signInWays } from './oidc/sign-in.ts';
import { openOperators } from './operator/operators.ts';
import { hotOf, platform } from './platform.ts';
import { openLimits } from './postgres/limits.ts';
import { createReads, type PostgresReads } from './postgres/reads.ts';
import { openVault } from './vault/vault.ts';

const ANSWER_FOR_MS = 500;
/** A database that takes longer to say what the workers do is not waited for. */
const NEGLECTED_MS = 300;
const { version } = packageJson;

/** Repeats what needs the event store until it answers: it may still be starting. */
const onceThere = async <T>(work: () => Promise<T>, logger: Logger, what: string): Promise<T> => {
  for (let wait = 25; ; wait = Math.min(1_000, wait * 2)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof LogError) || error.kind !== 'unavailable') throw error;
      logger.warn(`${what} waits for the event store: ${error.message}`);
      await sleep(wait);
    }
  }
};

/** One question at a time, its answer good for half a second. */
const lately = <T>(ask: () => Promise<T>): (() => Promise<T>) => {
  let asked = Number.NEGATIVE_INFINITY;
  let answer: Promise<T>;
  return () => {
    if (performance.now() - asked > ANSWER_FOR_MS) {
      asked = performance.now();
      answer = ask();
    }
    return answer;
  };
};

/** Whether deliveries can be accepted: the log answers, and took the last one. */
const readinessOf = (log: Log, isFailing: () => boolean, degraded: () => Promise<string[]>): (() => Promise<Readiness>) => {
  const answers = lately(() =>
    log.ping().then(
      () => true,
      () => false,
    ),
  );
  return async () => {
    const [isThere, others] = await Promise.all([answers(), degraded()]);
    const ready = isThere && !isFailing();
    return { ready, degraded: ready ? others : ['event store', ...others] };
  };
};

/** Every view is there and stands somewhere. */
const viewsUp = (reads: PostgresReads): boolean => reads.healthy() && projections.every(({ name }) => reads.position(name) !== null);

const show = (first: FirstKey): void => {
  if (process.send) process.send({ kind: 'first-key', ...first });
  else console.log(`API key (shown once): ${first.key}   tenant: ${first.tenant_id}`);
};

/** Serves HTTP over the three services of the configuration. Resolves once it listens; /readyz says when it is ready. */
export const serve = async (config: Config): Promise<{ port: number; close: () => Promise<void> }> => {
  const logger = loggerOf(config, 'serve');
  const harmed = damageTold(logger);
  const log = openLog(config.eventstoreUrl!, { damaged: harmed.tell });
  const vault = await onceThere(() => openVault({ log, masterKeyFile: config.masterKeyFile }), logger, 'the vault');
  const hot = hotOf(log);
  await onceThere(hot.start, logger, 'the cache');
  const reads = await createReads(config.databaseUrl!, logger);
  const shares = openLimits(config.databaseUrl!, logger);
  const limits = limiter(POLICIES, sharing(shares));
  const broker = brokerLater(config, logger);
  const operators = openOperators(config.databaseUrl!, log, logger);
  const storedDelivery = readDelivery(log);
  const operations = operationsOf({
    makeUser: (asked) => broker.connection().then((nats) => brokerUsers(nats, config)(asked)),
    storedDelivery,
    operators,
  });
  const metrics = openMetrics();
  const standing = metrics.projections(operators.statuses);
  const address = clientAddress(config.trustedProxies);
  const isHere = fromHere(address);
  const ports = hookPorts({ log, vault, hot, logger, limits });
  const neglected = lately(() => Promise.race([operators.neglected(), sleep(NEGLECTED_MS, [], { ref: false })]));
  const degraded = async () => {
    const workers = await neglected();
    return [...harmed.told(), ...(viewsUp(reads) ? [] : ['read models']), ...(broker.healthy() ? [] : ['message broker']), ...workers];
  };
  let document: unknown;
  const describe = () => {
    document ??= openapi(operations, plainPaths, config.publicUrl);
    return document;
  };

  const plain = (app: Hono, host: Host): void => {
    mountHooks(app, { ports, address });
    mountDeliveryBodies(app, host, storedDelivery);
    mountAuditExport(app, host);
    system(app, {
      readiness: readinessOf(log, ports.isFailing, degraded),
      metrics: () => standing().then(metrics.text),
      mayReadMetrics: (c) =>
        isHere(c) || (config.metricsToken !== undefined && c.req.header('authorization') === `Bearer ${config.metricsToken}`),
      openapi: describe,
      asyncapi: () => asyncapi({ publicUrl: config.publicUrl, version }),
      docsScript: docsScript(),
    });
  };

  const { app, systemContext, close } = platform({
    log,
    hot,
    vault,
    reads,
    logger,
    publicUrl: config.publicUrl,
    operations,
    plain,
    address,
    corsOrigins: config.corsOrigins,
    limits,
    signIn: await signInWays(config, { publicUrl: config.publicUrl, vault, logger }),
    answered: metrics.observe,
  });
  await onceThere(() => bootstrap(log, systemContext(), config.annalsAdminKey, show), logger, 'the first start');
  const server = await listen(app, config);
  logger.info({ port: server.port }, 'listening');
  return {
    port: server.port,
    close: async () => {
      await server.close();
      await ports.close();
      await close();
      await hot.close();
      await Promise.all([reads.close(), shares.close(), operators.close(), broker.close(), log.close()]);
    },
  };
};
