import type { Logger } from 'pino';
import { deliveries } from '../../projections/deliveries/delivery.ts';
import { projections } from '../../projections/registry.ts';
import { startHeadAnchorer } from '../audit/anchor-audit-heads.ts';
import { startHeadSigner } from '../audit/sign-audit-heads.ts';
import { startBenchmarkRunner } from '../benchmarks/benchmark-runs.ts';
import { startUsageCounter } from '../billing/count-usage.ts';
import { openBlobPlace } from '../blobs/open-blob-store.ts';
import type { Config } from '../config.ts';
import { startHeldReleaser } from '../deliveries/release-held.ts';
import { createReleaseServices } from '../deliveries/release-services.ts';
import { startDeliveryReplayer } from '../deliveries/replay-deliveries.ts';
import { startTenantEraser } from '../erasure/erase-tenants.ts';
import { openLog } from '../eventstore/client.ts';
import type { Log } from '../eventstore/event-log.ts';
import { createCorruptionReporter, createLogger } from '../logging/logger.ts';
import { startMailDeliverer } from '../mail/deliver-mail.ts';
import { startMailboxProvisioner } from '../mail/provision-mailboxes.ts';
import { startMemoryImporter } from '../memory/import-memory.ts';
import { connectInBackground } from '../nats/background-connection.ts';
import { runnersShareAccount, SHARED_ACCOUNT } from '../nats/runner-account.ts';
import { startTokenRenewer } from '../oauth/renew-tokens.ts';
import { openPool, pingDatabase } from '../postgres/pool.ts';
import { followerPositions } from '../projector/follower-positions.ts';
import { startProjections } from '../projector/projector.ts';
import { RELAY_REACTOR, type ReactorStatus } from '../projector/reactor-status.ts';
import { createSlidingWindows } from '../ratelimit/sliding-windows.ts';
import { openWindowTable } from '../ratelimit/window-table.ts';
import { openReactorSessions } from '../reactors/reactor-sessions.ts';
import { type AcknowledgementRecorder, startAcknowledgementRecorder } from '../relay/record-acknowledgements.ts';
import { startPublicationRecorder } from '../relay/record-publications.ts';
import { startRedrive } from '../relay/redrive.ts';
import { type RelayProcess, startRelayProcess } from '../relay/relay-process.ts';
import { startRotationFinisher } from '../rotation/finish-rotations.ts';
import { startCredentialRevoker } from '../runners/revoke-runner-credentials.ts';
import { startTargetCaller } from '../schedule/call-targets.ts';
import { startAgentMessenger } from '../schedule/message-agents.ts';
import { startScheduler } from '../schedule/scheduler.ts';
import { startSessionExpirer } from '../sessions/expire-sessions.ts';
import { startSkillWebhookHider } from '../skill-calls/hide-skill-webhooks.ts';
import type { StreamReport } from '../supervision/stream-recovery.ts';
import { startTenantCloser } from '../tenants/close-tenants.ts';
import { createLazyVault, type LazyVault } from '../vault/lazy-vault.ts';
import { clusterProblems } from './cluster-settings.ts';
import { COMPILE_CACHE } from './compile-cache.ts';
import { startDependencyWatch } from './dependency-watch.ts';
import { isForInspection, workForInspection } from './inspection.ts';

type Closable = { readonly close: () => Promise<void> };

const STOPPED_STREAM_REMEDY =
  'free disk space for nats-server; if that does not help, restart nats-server: its stream stopped at a write error';
const REPORT_INTERVAL_MS = 1_000;
const WATCH_TIMEOUT_MS = 5_000;

const relayStatus = (relay: RelayProcess | undefined): ReactorStatus => {
  const status = relay?.status();
  const works = status?.state === 'relaying' || status?.state === 'closed';
  if (works) return { name: RELAY_REACTOR, works, reason: null };
  const remedy = status?.is_stream_stopped ? STOPPED_STREAM_REMEDY : null;
  return { name: RELAY_REACTOR, works, reason: status?.last_error ?? 'it is starting', remedy };
};

const recorderStatus = (recorder: AcknowledgementRecorder): ReactorStatus => {
  const { reason, isStreamStopped } = recorder.status();
  return { name: 'recording of acknowledgements', works: reason === null, reason, remedy: isStreamStopped ? STOPPED_STREAM_REMEDY : null };
};

const openClient = async ({ egressAllow }: Config) => {
  const { createGuardedClient } = await import('../egress/guarded-client.ts');
  return createGuardedClient({ allow: egressAllow });
};

/**
 * Opens the client and the vault for calls of external targets. The modules are loaded only when the first target must
 * be called.
 */
const openTargetServices = async (config: Config, vault: LazyVault) => ({ client: await openClient(config), vault: await vault.open() });

/** Opens the services that are needed to renew tokens. Called when tokens are due for the first time. */
const openRenewalServices = async (config: Config, opener: LazyVault, logger: Logger) => {
  const { client, vault } = await openTargetServices(config, opener);
  const { createOAuthClients } = await import('../oauth/oauth-clients.ts');
  return { vault, oauth: createOAuthClients({ clients: config.oauth, client, publicUrl: config.publicUrl, logger }) };
};

/**
 * Opens the keys and the files that benchmark runs and mail need. Called when a benchmark run is open or a message is
 * due for the first time.
 */
const openContentServices = async (config: Config, opener: LazyVault) => {
  const [vault, place] = [await opener.open(), await openBlobPlace(config)];
  const { openBlobStore } = await import('../blobs/open-blob-store.ts');
  return { vault, blobs: openBlobStore(place, vault) };
};

/**
 * Opens the services that are needed to import files into memories. The modules are loaded only when the first import
 * is requested.
 */
const openImportServices = async (config: Config, vault: LazyVault) => {
  const { openBlobStore } = await import('../blobs/open-blob-store.ts');
  const { unpackZip } = await import('../archives/unpack-zip.ts');
  return { blobs: openBlobStore(await openBlobPlace(config), await vault.open()), unpack: unpackZip };
};

/**
 * Opens the key that signs audit heads (the signed hashes of audit logs). The modules are loaded only when the first
 * head must be signed.
 */
const openHeadKey = async (log: Log, vault: LazyVault) => {
  const { openSigningKey } = await import('../audit/signing-key.ts');
  return openSigningKey({ log, vault: await vault.open() });
};

type BrokerReactors = { readonly relay: RelayProcess; readonly recorder: AcknowledgementRecorder };

/**
 * If there is a supervisor, reports to it every second whether nats-server has stopped a stream. The supervisor can
 * then restart nats-server.
 */
const reportStreams = ({ relay, recorder }: BrokerReactors): NodeJS.Timeout =>
  setInterval(() => {
    const isStopped = relay.status().is_stream_stopped || recorder.status().isStreamStopped;
    const message: StreamReport = { kind: 'stream', isStopped };
    if (process.connected) process.send?.(message, undefined, undefined, () => {});
  }, REPORT_INTERVAL_MS);

/**
 * Runs the projections and the reactors until `close` is called. They wait for the services that they need, without a
 * time limit.
 */
export const work = async (config: Config): Promise<Closable> => {
  if (isForInspection(config.annalsData)) return workForInspection(config);
  const logger = createLogger(config, 'work');
  for (const { message, advice } of clusterProblems(config)) logger.warn(`${message}; ${advice}`);
  // The module is loaded only if a port for metrics is configured, which saves memory otherwise.
  const metrics = config.metricsPort === undefined ? null : (await import('./work-metrics.ts')).createWorkMetrics(config);
  const onDamage = createCorruptionReporter(logger).report;
  const log = openLog(config.eventstoreUrl!, {
    onDamage,
    ...(metrics && { onAppend: metrics.onAppend }),
  });
  const broker = connectInBackground(config, logger);
  if (runnersShareAccount(config)) logger.warn(SHARED_ACCOUNT);
  let ofBroker: BrokerReactors | undefined;
  let streamReports: NodeJS.Timeout | undefined;
  const reactorStatuses = () => [relayStatus(ofBroker?.relay), ...(ofBroker ? [recorderStatus(ofBroker.recorder)] : [])];
  const projector = await startProjections({ log, databaseUrl: config.databaseUrl!, projections, logger, reactors: reactorStatuses });
  const vault = createLazyVault(log, config.masterKeyFile);
  const sessions = openReactorSessions(config.databaseUrl!, logger);
  const timedParts = { log, databaseUrl: config.databaseUrl!, sessions, logger };
  const followerParts = { log, logger, positions: followerPositions(log, sessions) };
  const windowTable = openWindowTable(config.databaseUrl!, logger);
  const windows = createSlidingWindows(windowTable);
  const releases = createReleaseServices({ log, logger, openVault: vault.open, windows });
  const timed = [
    ...[startTenantCloser, startSessionExpirer, startScheduler].map((start) => start(timedParts)),
    startDeliveryReplayer({ ...timedParts, releases: releases.ports }),
    startHeldReleaser({ ...timedParts, ports: releases.ports }),
    startTargetCaller({ ...timedParts, services: () => openTargetServices(config, vault) }),
    startAgentMessenger({ ...timedParts, openVault: vault.open }),
    startTokenRenewer({ ...timedParts, services: () => openRenewalServices(config, vault, logger) }),
    startHeadSigner({ ...timedParts, openKey: () => openHeadKey(log, vault) }),
    ...(config.auditAnchorUrl
      ? [startHeadAnchorer({ ...timedParts, url: config.auditAnchorUrl, openClient: () => openClient(config) })]
      : []),
    startRotationFinisher({
      ...timedParts,
      masterKeyFile: config.masterKeyFile,
      annalsData: config.annalsData,
      vault,
      blobs: () => openBlobPlace(config),
    }),
    startMemoryImporter({ ...timedParts, services: () => openImportServices(config, vault) }),
  ];
  if (config.mailDomain !== undefined) {
    const services = () => openContentServices(config, vault);
    timed.push(startMailDeliverer({ ...timedParts, domain: config.mailDomain, smtpUrl: config.smtpUrl, services, windows }));
  }
  const eraser = startTenantEraser({
    ...timedParts,
    ...followerParts,
    nats: async () => (config.natsUrl ? broker.connection() : null),
    blobs: async () => (await openBlobPlace(config))?.backend ?? null,
    annalsData: config.annalsData,
    vault,
  });
  const followers = [eraser, startSkillWebhookHider(followerParts), startUsageCounter({ log, logger })];
  if (config.mailDomain !== undefined)
    followers.push(startMailboxProvisioner({ ...followerParts, domain: config.mailDomain, openVault: vault.open }));
  const reactorsOfBroker = broker.whenConnected().then(async (nats): Promise<Closable[]> => {
    if (!nats) return [];
    const { natsUrl, natsAccountSeed, publicUrl, masterKeyFile } = config;
    const addresses = { natsUrl, natsAccountSeed, eventstoreUrl: config.eventstoreUrl! };
    const task = { ...addresses, publicUrl, masterKeyFile };
    const relay = startRelayProcess({ task, compileCache: COMPILE_CACHE, logger, onDamage });
    const recorder = startAcknowledgementRecorder({ log, nats, logger, ...(metrics && { onSettled: metrics.onSettled }) });
    ofBroker = { relay, recorder };
    streamReports = reportStreams(ofBroker);
    const redrive = startRedrive({
      log,
      nats,
      reads: sessions.reads,
      logger,
      isResponsible: () => projector.status().some(({ name, writer }) => name === deliveries.name && writer),
      isRecording: () => recorder.status().reason === null,
      publishedThrough: relay.publishedThrough,
    });
    const revoker = startCredentialRevoker({ ...config, log, logger });
    const benchmarkRunner = startBenchmarkRunner({ ...timedParts, nats, services: () => openContentServices(config, vault) });
    return [benchmarkRunner, relay, startPublicationRecorder({ log, relay, logger }), recorder, revoker, redrive];
  });
  const watched = openPool(config.databaseUrl!, logger, 'watch', { max: 1, queryTimeoutMs: WATCH_TIMEOUT_MS });
  const watch = startDependencyWatch({
    dependencies: {
      'the event store': () => log.ping().then(() => null),
      Postgres: () => pingDatabase(watched),
      NATS: () => (broker.isHealthy() ? null : 'there is no connection'),
    },
    logger,
  });
  const measuring = metrics?.start({ log, logger, broker, projector, relay: () => ofBroker?.relay });
  logger.info('working');
  return {
    close: async () => {
      clearInterval(streamReports);
      watch.close();
      await watched.end();
      await measuring?.close();
      if (!broker.isHealthy()) await broker.close();
      await Promise.all((await reactorsOfBroker).map((reactor) => reactor.close()));
      await broker.close();
      await Promise.all(timed.map((reactor) => reactor.close()));
      await Promise.all(followers.map((reactor) => reactor.close()));
      await releases.close();
      await windowTable.close();
      await sessions.close();
      await vault.close();
      await projector.close();
      await log.close();
    },
  };
};
