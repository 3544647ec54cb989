import { setTimeout as sleep } from 'node:timers/promises';
import type { Hono } from 'hono';
import type { Logger } from 'pino';
import { mountAuditExport } from '../../api/audit/audit-export.ts';
import { openapi } from '../../api/http/openapi.ts';
import type { Runtime } from '../../api/http/runtime.ts';
import { mountSystemRoutes, type Readiness } from '../../api/operations/system-routes.ts';
import { plainPaths } from '../../api/plain-routes.ts';
import { operationsOf } from '../../api/routes.ts';
import { asyncapi } from '../../api/runners/asyncapi.ts';
import { mountDeliveryBodies } from '../../api/webhooks/delivery.ts';
import { mountInboundWebhook } from '../../api/webhooks/inbound-webhook.ts';
import type { FirstKey } from '../../commands/operations/seed-platform.ts';
import { RATE_LIMIT_POLICIES } from '../../domain/access/rate-limit-policy.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { projections } from '../../projections/registry.ts';
import type { Config } from '../config.ts';
import { openLog } from '../eventstore/client.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';
import { clientAddress, isLocalRequest } from '../http/client-address.ts';
import { lazyDocsScript } from '../http/docs-script.ts';
import { listen } from '../http/listen.ts';
import { createMetrics } from '../http/metrics.ts';
import { createCorruptionReporter, createLogger } from '../logging/logger.ts';
import { connectInBackground } from '../nats/background-connection.ts';
import { brokerUserFactory } from '../nats/runner-users.ts';
import { openSignInMethods } from '../oidc/sign-in.ts';
import { openProjectionAdmin } from '../projector/projection-admin.ts';
import { createRateLimiter } from '../ratelimit/limiter.ts';
import { openQuotaTable } from '../ratelimit/quota-table.ts';
import { createQuotaSync } from '../ratelimit/shared-quota.ts';
import { createReads, type PostgresReads } from '../readmodel/postgres-read-model.ts';
import { openVault } from '../vault/vault.ts';
import { readDelivery } from '../webhooks/read-delivery.ts';
import { webhookPorts } from '../webhooks/webhook-ports.ts';
import { createApplication } from './application.ts';
import { openApplicationCache } from './application-cache.ts';
import { seed } from './seed.ts';

const ANSWER_FOR_MS = 500;
/** A database that takes longer to say what the workers do is not waited for. */
const WORKER_STATUS_TIMEOUT_MS = 300;
const { version } = packageJson;

/** Repeats what needs the event store until it answers: it may still be starting. */
const retryUntilAvailable = async <T>(work: () => Promise<T>, logger: Logger, what: string): Promise<T> => {
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
const memoizeFor = <T>(ask: () => Promise<T>): (() => Promise<T>) => {
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
  const answers = memoizeFor(() =>
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
const readModelsReady = (reads: PostgresReads): boolean =>
  reads.healthy() && projections.every(({ name }) => reads.position(name) !== null);

const show = (first: FirstKey): void => {
  if (process.send) process.send({ kind: 'first-key', ...first });
  else console.log(`API key (shown once): ${first.key}   tenant: ${first.tenant_id}`);
};

/** Serves HTTP over the three services of the configuration. Resolves once it listens; /readyz says when it is ready. */
export const serve = async (config: Config): Promise<{ port: number; close: () => Promise<void> }> => {
  const logger = createLogger(config, 'serve');
  const corruption = createCorruptionReporter(logger);
  const log = openLog(config.eventstoreUrl!, { onDamage: corruption.report });
  const vault = await retryUntilAvailable(() => openVault({ log, masterKeyFile: config.masterKeyFile }), logger, 'the vault');
  const cache = openApplicationCache(log);
  await retryUntilAvailable(cache.start, logger, 'the cache');
  const reads = await createReads(config.databaseUrl!, logger);
  const shares = openQuotaTable(config.databaseUrl!, logger);
  const limits = createRateLimiter(RATE_LIMIT_POLICIES, createQuotaSync(shares));
  const broker = connectInBackground(config, logger);
  const operators = openProjectionAdmin(config.databaseUrl!, log, logger);
  const storedDelivery = readDelivery(log);
  const operations = operationsOf({
    createBrokerUser: (asked) => broker.connection().then((nats) => brokerUserFactory(nats, config)(asked)),
    storedDelivery,
    projectionAdmin: operators,
  });
  const metrics = createMetrics();
  const updateProjectionMetrics = metrics.trackProjections(operators.statuses);
  const address = clientAddress(config.trustedProxies);
  const isHere = isLocalRequest(address);
  const ports = webhookPorts({ log, vault, cache, logger, limits });
  const missingWorkers = memoizeFor(() => Promise.race([operators.missingWorkers(), sleep(WORKER_STATUS_TIMEOUT_MS, [], { ref: false })]));
  const degraded = async () => {
    const workers = await missingWorkers();
    return [
      ...corruption.degradedParts(),
      ...(readModelsReady(reads) ? [] : ['read models']),
      ...(broker.isHealthy() ? [] : ['message broker']),
      ...workers,
    ];
  };
  let document: unknown;
  const describe = () => {
    document ??= openapi(operations, plainPaths, config.publicUrl);
    return document;
  };

  const plain = (app: Hono, host: Runtime): void => {
    mountInboundWebhook(app, { ports, address });
    mountDeliveryBodies(app, host, storedDelivery);
    mountAuditExport(app, host);
    mountSystemRoutes(app, {
      readiness: readinessOf(log, ports.isFailing, degraded),
      metrics: () => updateProjectionMetrics().then(metrics.text),
      mayReadMetrics: (c) =>
        isHere(c) || (config.metricsToken !== undefined && c.req.header('authorization') === `Bearer ${config.metricsToken}`),
      openapi: describe,
      asyncapi: () => asyncapi({ publicUrl: config.publicUrl, version }),
      docsScript: lazyDocsScript(),
    });
  };

  const { app, systemContext, close } = createApplication({
    log,
    cache,
    vault,
    reads,
    logger,
    publicUrl: config.publicUrl,
    operations,
    plain,
    address,
    corsOrigins: config.corsOrigins,
    limits,
    signIn: await openSignInMethods(config, { publicUrl: config.publicUrl, vault, logger }),
    answered: metrics.observe,
  });
  await retryUntilAvailable(() => seed(log, systemContext(), config.annalsAdminKey, show), logger, 'the first start');
  const server = await listen(app, config);
  logger.info({ port: server.port }, 'listening');
  return {
    port: server.port,
    close: async () => {
      await server.close();
      await ports.close();
      await close();
      await cache.close();
      await Promise.all([reads.close(), shares.close(), operators.close(), broker.close(), log.close()]);
    },
  };
};
