import { setTimeout as sleep } from 'node:timers/promises';
import { mountAuditExport } from '../../api/audit/audit-export.ts';
import { type ChangeStreams, mountTenantChanges } from '../../api/audit/tenant-changes.ts';
import { mountPaymentWebhook } from '../../api/billing/payment-webhook.ts';
import { mountOAuthCallback } from '../../api/credentials/oauth-callback.ts';
import { openapi } from '../../api/http/openapi.ts';
import type { ReadHealth } from '../../api/operations/health.ts';
import { mountSystemRoutes } from '../../api/operations/system-routes.ts';
import { plainPaths } from '../../api/plain-routes.ts';
import { operationsOf } from '../../api/routes.ts';
import { asyncapi } from '../../api/runners/asyncapi.ts';
import { mountDeliveryBodies } from '../../api/webhooks/delivery.ts';
import { mountInboundWebhook } from '../../api/webhooks/inbound-webhook.ts';
import { mountSkillCalls } from '../../api/webhooks/skill-call.ts';
import { issueSignInLink } from '../../commands/identity/sign-in-link.ts';
import type { MailSettings } from '../../commands/mail/send-mail.ts';
import { RATE_LIMIT_POLICIES } from '../../domain/access/rate-limit-policy.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { parseYaml } from '../archives/parse-yaml.ts';
import { unpackZip } from '../archives/unpack-zip.ts';
import { createDatasetClient } from '../benchmarks/dataset-client.ts';
import type { Config } from '../config.ts';
import { createGuardedClient } from '../egress/guarded-client.ts';
import { erasurePorts } from '../erasure/erasure-ports.ts';
import { createVirusScan } from '../files/clamav.ts';
import { createCodeHost } from '../git/code-host.ts';
import { createRuleEvaluator } from '../guardrails/rule-evaluator.ts';
import { createHostCheck } from '../http/allowed-host.ts';
import { clientAddress } from '../http/client-address.ts';
import { lazyDocsScript } from '../http/docs-script.ts';
import { listen } from '../http/listen.ts';
import { serveMetricsAccess } from '../http/metrics-server.ts';
import { signInUrl } from '../listen-url.ts';
import { createLogger } from '../logging/logger.ts';
import { createFileHost } from '../memory/file-host.ts';
import { openRunnerBroker } from '../nats/runner-broker.ts';
import { brokerUserFactory } from '../nats/runner-users.ts';
import { createOAuthClients } from '../oauth/oauth-clients.ts';
import { openSignInMethods } from '../oidc/sign-in.ts';
import { createStripeProvider } from '../payments/stripe-provider.ts';
import { createDatabaseTest } from '../postgres/database-test.ts';
import { createRateLimiter } from '../ratelimit/limiter.ts';
import { createQuotaSync } from '../ratelimit/shared-quota.ts';
import { createSlidingWindows } from '../ratelimit/sliding-windows.ts';
import { createCpuBudgets } from '../threads/cpu-budget.ts';
import { countDeliveries } from '../webhooks/count-deliveries.ts';
import { createDeliveryPreviews } from '../webhooks/delivery-previews.ts';
import { readDelivery } from '../webhooks/read-delivery.ts';
import { skillCallPorts } from '../webhooks/skill-call-ports.ts';
import { startIntegrationWarming } from '../webhooks/warm-integrations.ts';
import { webhookPorts } from '../webhooks/webhook-ports.ts';
import { type ApplicationOptions, createApplication } from './application.ts';
import { clusterProblems } from './cluster-settings.ts';
import { watchDependencies } from './dependency-watch.ts';
import { createHealthReport } from './health-report.ts';
import { startMailReceiver } from './mail-receiver.ts';
import { deliverFirstKey, notify } from './operator-messages.ts';
import { createReadiness, memoizeFor, readModelsReady, STATUS_TTL_MS } from './readiness.ts';
import { retryUntilAvailable } from './retry-until-available.ts';
import { checkAdminKey, seed } from './seed.ts';
import { openConnections } from './serve-connections.ts';
import { createServeMetrics } from './serve-metrics.ts';
import { mountUploadRoutes } from './upload-routes.ts';

/** The maximum time in milliseconds that /readyz waits for the database when it reads which workers have reported. */
const WORKER_STATUS_TIMEOUT_MS = 300;
/** The time limit in milliseconds for a trial run of rules on a past delivery. */
const TRIAL_TIME_LIMIT_MS = 250;
const { version } = packageJson;

type Connections = Awaited<ReturnType<typeof openConnections>>;

/**
 * Creates the function that lists the parts that do not work, for /readyz. The platform accepts deliveries without
 * these parts.
 */
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

/** Creates the health report from the connections of this process. */
const healthReport = (config: Config, connections: Connections, isFailing: () => boolean): ReadHealth => {
  const { corruption, keys, projectionAdmin, spool } = connections;
  const faults = () => [...corruption.degradedParts(), ...keys.degradedParts()];
  return createHealthReport({ ...connections, config, db: projectionAdmin.db, spool: spool.status, isFailing, faults });
};

const mailSettings = ({ mailDomain, smtpUrl }: Config): MailSettings => ({ domain: mailDomain ?? null, hasSmtp: smtpUrl !== undefined });

/** Starts the HTTP service. Resolves when it listens. From then on, /readyz reports whether deliveries are accepted. */
export const serve = async (config: Config): Promise<{ port: number; close: () => Promise<void> }> => {
  const { publicUrl, corsOrigins } = config;
  const logger = createLogger(config, 'serve');
  for (const { message, advice } of clusterProblems(config)) logger.warn(`${message}; ${advice}`);
  const metrics = createServeMetrics(config);
  const connections = await openConnections(config, logger, metrics.onAppend);
  const { log, vault, cache, reads, quotas, windows, broker, projectionAdmin, blobs, blobFailure, blobPlace, spool } = connections;
  const checks = { event_store: () => log.ping().then(() => true), postgres: reads.healthy, nats: broker.isHealthy };
  metrics.addServices({ ...checks, ...(blobPlace && { file_store: async () => (await blobFailure()) === null }) }, vault);
  const limits = createRateLimiter(RATE_LIMIT_POLICIES, createQuotaSync(quotas), metrics.onRateLimited);
  const storedDelivery = readDelivery({ log, vault, logger });
  const { evaluate: evaluateTrial, close: closeTrials } = createRuleEvaluator({ logger, timeLimitMs: TRIAL_TIME_LIMIT_MS });
  const egress = createGuardedClient({ allow: config.egressAllow });
  const previews = createDeliveryPreviews({ readDelivery: storedDelivery, vault });
  const ports = countDeliveries(
    previews.keepNew(
      webhookPorts({
        log,
        vault,
        cache,
        logger,
        limits,
        windows: createSlidingWindows(windows),
        spool: { spool, onDrained: metrics.onDrained },
      }),
    ),
    metrics.countWebhook,
  );
  metrics.addSpool(spool.status, ports);
  const runnerBroker = openRunnerBroker(broker, config);
  const oauth = createOAuthClients({ clients: config.oauth, client: egress, publicUrl, logger });
  const operations = operationsOf({
    datasets: createDatasetClient(egress),
    codeHost: createCodeHost({ client: egress, tokens: config.gitTokens }),
    importPorts: { unpack: unpackZip, parseYaml },
    payments: config.stripeSecretKey ? createStripeProvider({ secretKey: config.stripeSecretKey, client: egress }) : null,
    testDatabase: createDatabaseTest({ allow: config.egressAllow }),
    oauth,
    publicUrl,
    erasure: erasurePorts({ log, vault }),
    createBrokerUser: async (request) => {
      const user = await brokerUserFactory(await broker.connection(), config)(request);
      metrics.onCredentialIssued();
      return user;
    },
    runnerBroker,
    storedDelivery,
    readPreviews: previews.read,
    evaluateTrial,
    webhookPorts: ports,
    projectionAdmin,
    readHealth: healthReport(config, connections, ports.isFailing),
    mail: mailSettings(config),
  });
  const address = clientAddress(config.trustedProxies);
  const skillCalls = skillCallPorts({ log, vault, cache, logger, deliveries: ports });
  let document: unknown;
  let changeStreams: ChangeStreams | undefined;

  const plainRoutes: ApplicationOptions['plainRoutes'] = (app, runtime, attempt) => {
    mountInboundWebhook(app, { ports, address, publicUrl });
    mountSkillCalls(app, { ports: skillCalls, address });
    mountDeliveryBodies(app, runtime, storedDelivery);
    mountAuditExport(app, runtime);
    changeStreams = mountTenantChanges(app, runtime);
    mountOAuthCallback(app, runtime, { oauth, publicUrl, attempt });
    mountPaymentWebhook(app, runtime, { secrets: config.stripeWebhookSecret ?? [] });
    const findVirus = config.clamavUrl ? createVirusScan(config.clamavUrl) : null;
    mountUploadRoutes(app, runtime, { files: createFileHost(egress), findVirus, logger });
    mountSystemRoutes(app, {
      readiness: createReadiness({
        log,
        onLogEnd: reads.noteEvent,
        isFailing: ports.isFailing,
        spool: spool.status,
        degraded: degradedParts(connections),
      }),
      metrics: metrics.text,
      mayReadMetrics: serveMetricsAccess(config),
      openapi: () => {
        document ??= openapi(operations, plainPaths, publicUrl);
        return document;
      },
      asyncapi: () => asyncapi({ publicUrl, version }),
      docsScript: lazyDocsScript(),
    });
  };

  const { app, systemContext, close } = createApplication({
    log,
    cache,
    vault,
    reads,
    blobs,
    logger,
    publicUrl,
    operations,
    plainRoutes,
    address,
    corsOrigins,
    limits,
    budgets: createCpuBudgets({ onRefused: metrics.onCheckRefused }),
    signIn: await openSignInMethods(config, { publicUrl, vault, logger }),
    onResponse: metrics.onResponse,
  });
  const seedOnce = async (): Promise<void> => {
    const ctx = systemContext();
    await seed(log, ctx, config.annalsAdminKey, async (first) => deliverFirstKey(first, signInUrl(publicUrl, await issueSignInLink(ctx))));
    await checkAdminKey(systemContext(), config.annalsAdminKey, (line) => notify(logger, line));
  };
  await retryUntilAvailable(seedOnce, logger, 'the first start');
  const receiver = await startMailReceiver(config, { connections, ports, logger, systemContext });
  if (receiver) metrics.addMail(receiver.status);
  const server = await listen(app, config, metrics.onMalformed, createHostCheck(config));
  logger.info({ port: server.port }, 'listening');
  const watch = watchDependencies(connections, logger);
  const warming = startIntegrationWarming({ reads, prepare: ports.prepare, logger });
  return {
    port: server.port,
    close: async () => {
      watch.close();
      await warming.close();
      changeStreams?.close();
      await server.close();
      await receiver?.close();
      metrics.close();
      await skillCalls.close();
      await ports.close();
      await closeTrials();
      await close();
      await egress.close();
      await runnerBroker.close();
      await connections.close();
    },
  };
};
