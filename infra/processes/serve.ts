import { issueSignInLink } from '../../commands/identity/sign-in-link.ts';
import type { Config } from '../config.ts';
import { startIntegrationWarming } from '../deliveries/warm-integrations.ts';
import { createHostCheck } from '../http/allowed-host.ts';
import { listen } from '../http/listen.ts';
import { signInUrl } from '../listen-url.ts';
import { createLogger } from '../logging/logger.ts';
import { createPlatform } from '../platform/create-platform.ts';
import { startProcessReports } from '../postgres/process-presence.ts';
import { clusterProblems } from './cluster-settings.ts';
import { watchDependencies } from './dependency-watch.ts';
import { startMailReceiver } from './mail-receiver.ts';
import { openServeServices } from './open-serve-services.ts';
import { deliverFirstKey, notify } from './operator-messages.ts';
import { retryUntilAvailable } from './retry-until-available.ts';
import { checkAdminKey, seed } from './seed.ts';
import { createServeMetrics } from './serve-metrics.ts';

/** Starts the HTTP service. Resolves when it listens. From then on, /readyz reports whether deliveries are accepted. */
export const serve = async (config: Config): Promise<{ port: number; close: () => Promise<void> }> => {
  const logger = createLogger(config, 'serve');
  for (const { message, advice } of clusterProblems(config)) logger.warn(`${message}; ${advice}`);
  const metrics = createServeMetrics(config);
  const { connections, services, close: closeServices } = await openServeServices(config, logger, metrics);
  const { app, systemContext, deliveries, endStreams, close } = createPlatform(services);
  metrics.addSpool(connections.spool.status, deliveries);
  const seedOnce = async (): Promise<void> => {
    const ctx = systemContext();
    const signInLink = async () => signInUrl(config.publicUrl, await issueSignInLink(ctx));
    await seed(connections.log, ctx, config.annalsAdminKey, async (first) => deliverFirstKey(first, await signInLink()));
    await checkAdminKey(systemContext(), config.annalsAdminKey, (line) => notify(logger, line));
  };
  await retryUntilAvailable(seedOnce, logger, 'the first start');
  const receiver = await startMailReceiver(config, { connections, ports: deliveries, logger, systemContext });
  if (receiver) metrics.addMail(receiver.status);
  const server = await listen(app, config, metrics.onMalformed, createHostCheck(config));
  logger.info({ port: server.port }, 'listening');
  const reports = startProcessReports(connections.projectionAdmin.db, 'serve');
  const watch = watchDependencies(connections, logger);
  const warming = startIntegrationWarming({ reads: connections.reads, prepare: deliveries.prepare, logger });
  return {
    port: server.port,
    close: async () => {
      watch.close();
      await reports.close();
      await warming.close();
      endStreams();
      await server.close();
      await receiver?.close();
      metrics.close();
      await close();
      await closeServices();
    },
  };
};
