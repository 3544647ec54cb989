import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ReadHealth } from '../../api/operations/health.ts';
import type { Ctx } from '../../commands/context.ts';
import type { RunnerBroker } from '../../commands/runners/runner-broker.ts';
import { RATE_LIMIT_POLICIES } from '../../domain/access/rate-limit-policy.ts';
import { tenantToLoad } from '../aggregates/tenant-of-stream.ts';
import { throwAsRefusal } from '../aggregates/transact.ts';
import { createDatasetClient } from '../benchmarks/dataset-client.ts';
import type { Config } from '../config.ts';
import { createGuardedClient } from '../egress/guarded-client.ts';
import { createVirusScan } from '../files/clamav.ts';
import { createCodeHost } from '../git/code-host.ts';
import { createQueueReaders } from '../health/agent-queues.ts';
import { createHeldReader } from '../health/held-deliveries.ts';
import { clientAddress } from '../http/client-address.ts';
import { serveMetricsAccess } from '../http/metrics-server.ts';
import { createFileHost } from '../memory/file-host.ts';
import { openRunnerBroker } from '../nats/runner-broker.ts';
import { brokerUserFactory } from '../nats/runner-users.ts';
import { openSessionDrafts } from '../nats/session-drafts.ts';
import { createOAuthClients } from '../oauth/oauth-clients.ts';
import { openSignInMethods } from '../oidc/sign-in.ts';
import { createStripeProvider } from '../payments/stripe-provider.ts';
import type { PlatformServices } from '../platform/platform-services.ts';
import { createDatabaseTest } from '../postgres/database-test.ts';
import { createRateLimiter } from '../ratelimit/limiter.ts';
import { createQuotaSync } from '../ratelimit/shared-quota.ts';
import { createSlidingWindows } from '../ratelimit/sliding-windows.ts';
import { createCpuBudgets } from '../threads/cpu-budget.ts';
import { createHealthReport } from './health-report.ts';
import { createReadiness, memoizeFor, readModelsReady, STATUS_TTL_MS } from './readiness.ts';
import { openConnections } from './serve-connections.ts';
import type { createServeMetrics } from './serve-metrics.ts';

/** The maximum time in milliseconds that /readyz waits for the database when it reads which workers have reported. */
const WORKER_STATUS_TIMEOUT_MS = 300;

/** For how many milliseconds the health report reuses the counts of held deliveries, which take several queries. */
const HELD_TTL_MS = 2_000;
/** For how many milliseconds the health report reuses the queues: the broker is asked for each connection. */
const QUEUES_TTL_MS = 5_000;

type Connections = Awaited<ReturnType<typeof openConnections>>;
type ServeMetrics = ReturnType<typeof createServeMetrics>;

/** Creates the function that lists the parts that do not work, for /readyz. The platform accepts deliveries without these parts. */
const degradedParts = ({ corruption, keys, reads, broker, projectionAdmin, blobFailure }: Connections): (() => Promise<string[]>) => {
  const timeout = (): Promise<string[]> => sleep(WORKER_STATUS_TIMEOUT_MS, [], { ref: false });
  const missingWorkers = memoizeFor(STATUS_TTL_MS, () => Promise.race([projectionAdmin.missingWorkers(), timeout()]));
  return async () => {
    const [workers, brokenBlobs] = await Promise.all([missingWorkers(), blobFailure()]);
    return [
      ...corruption.degradedParts(),
      ...keys.degradedParts(),
      ...(readModelsReady(reads) ? [] : ['read models']),
      ...(broker.isHealthy() ? [] : ['message broker']),
      ...workers,
      ...(brokenBlobs === null ? [] : ['file store']),
    ];
  };
};

/** Returns the contexts in which the present state of a tenant's aggregates is read. */
const cachedContexts = (cache: Connections['cache']) => (tenant: string) => {
  const load: Ctx['load'] = (aggregate, id, options) =>
    cache.load(aggregate, tenantToLoad(tenant, aggregate, id, options?.tenant), id).catch(throwAsRefusal);
  return { tenant, at: () => new Date().toISOString(), load };
};

const healthReport = (config: Config, connections: Connections, broker: RunnerBroker, isFailing: () => boolean): ReadHealth => {
  const { corruption, keys, projectionAdmin, spool, reads, cache } = connections;
  const queueParts = { reads, broker, contextOf: cachedContexts(cache) };
  const read = createQueueReaders(queueParts, (ask) => memoizeFor(QUEUES_TTL_MS, ask));
  const readHeld = memoizeFor(HELD_TTL_MS, createHeldReader(queueParts, read.queues));
  const faults = () => [...corruption.degradedParts(), ...keys.degradedParts()];
  return createHealthReport({
    ...connections,
    config,
    db: projectionAdmin.db,
    spool: spool.status,
    isFailing,
    faults,
    readHeld,
    read,
  });
};

/** Opens the connections and the clients of this process, and says what the platform gets. */
export const openServeServices = async (config: Config, logger: Logger, metrics: ServeMetrics) => {
  const { publicUrl, corsOrigins, mailDomain, smtpUrl } = config;
  const connections = await openConnections(config, logger, metrics.onAppend);
  const { log, cache, vault, reads, blobs, projectionAdmin, quotas, windows, broker, blobFailure, blobPlace, spool } = connections;
  const checks = { event_store: () => log.ping().then(() => true), postgres: reads.healthy, nats: broker.isHealthy };
  metrics.addServices({ ...checks, ...(blobPlace && { file_store: async () => (await blobFailure()) === null }) }, vault);
  const egress = createGuardedClient({ allow: config.egressAllow });
  const runnerBroker = openRunnerBroker(broker, config);
  const services: PlatformServices = {
    log,
    cache,
    vault,
    reads,
    blobs,
    projectionAdmin,
    logger,
    publicUrl,
    corsOrigins,
    address: clientAddress(config.trustedProxies),
    limits: createRateLimiter(RATE_LIMIT_POLICIES, createQuotaSync(quotas), metrics.onRateLimited),
    budgets: createCpuBudgets({ onRefused: metrics.onCheckRefused }),
    windows: createSlidingWindows(windows),
    spool: { spool, onDrained: metrics.onDrained },
    signIn: await openSignInMethods(config, { publicUrl, vault, logger }),
    codeHost: createCodeHost({ client: egress, tokens: config.gitTokens }),
    datasets: createDatasetClient(egress),
    files: createFileHost(egress),
    findVirus: config.clamavUrl ? createVirusScan(config.clamavUrl) : null,
    payments: config.stripeSecretKey ? createStripeProvider({ secretKey: config.stripeSecretKey, client: egress }) : null,
    paymentSecrets: config.stripeWebhookSecret ?? [],
    testDatabase: createDatabaseTest({ allow: config.egressAllow }),
    oauth: createOAuthClients({ clients: config.oauth, client: egress, publicUrl, logger }),
    mail: { domain: mailDomain ?? null, hasSmtp: smtpUrl !== undefined },
    runnerBroker,
    drafts: openSessionDrafts(broker),
    createBrokerUser: async (request) => {
      const user = await brokerUserFactory(await broker.connection(), config)(request);
      metrics.onCredentialIssued();
      return user;
    },
    reportOn: (isFailing) => ({
      readiness: createReadiness({ log, onLogEnd: reads.noteEvent, isFailing, spool: spool.status, degraded: degradedParts(connections) }),
      readHealth: healthReport(config, connections, runnerBroker, isFailing),
      metrics: metrics.text,
      mayReadMetrics: serveMetricsAccess(config),
    }),
    onResponse: metrics.onResponse,
    onDelivery: metrics.countWebhook,
  };
  const close = async (): Promise<void> => {
    await egress.close();
    await runnerBroker.close();
    await connections.close();
  };
  return { connections, services, close };
};
