import type { Logger } from 'pino';
import { openBlobPlace, openBlobStore } from '../blobs/open-blob-store.ts';
import { COMPILE_CACHE } from '../compile-cache.ts';
import type { Config } from '../config.ts';
import { createReleaseServices } from '../deliveries/release-services.ts';
import { type LogOptions, openLog } from '../eventstore/client.ts';
import { createCorruptionReporter } from '../logging/logger.ts';
import { connectInBackground } from '../nats/background-connection.ts';
import { openOnce } from '../open-once.ts';
import { createOpened } from '../opened.ts';
import { followerPositions } from '../projector/follower-positions.ts';
import { createSlidingWindows } from '../ratelimit/sliding-windows.ts';
import { openWindowTable } from '../ratelimit/window-table.ts';
import { openReactorSessions } from '../reactors/reactor-sessions.ts';
import type { MessagingServices } from '../relay/messaging.ts';
import { startRelayProcess } from '../relay/relay-process.ts';
import { createLazyVault } from '../vault/lazy-vault.ts';

/** Callbacks about what happens, for metrics. */
type Observers = Pick<LogOptions, 'onAppend'> & Pick<MessagingServices, 'onSettled'>;

/**
 * Opens what projections and reactors need. Vault, files and clients are opened at their first use, and their modules loaded only then, which
 * saves memory. Each call of `egress` opens its own client, because each client limits the number of its requests. `close` closes
 * everything in the reverse order.
 */
export const openWorkServices = (config: Config, logger: Logger, { onAppend, onSettled }: Observers = {}) => {
  const { natsUrl, natsAccountSeed, publicUrl, masterKeyFile } = config;
  const [databaseUrl, eventstoreUrl] = [config.databaseUrl!, config.eventstoreUrl!];
  const task = { eventstoreUrl, natsUrl, natsAccountSeed, publicUrl, masterKeyFile };
  const { keep, close } = createOpened(logger);
  const onDamage = createCorruptionReporter(logger).report;
  const log = keep('log', openLog(eventstoreUrl, { onDamage, ...(onAppend && { onAppend }) }));
  const broker = keep('broker', connectInBackground(config, logger));
  const vault = keep('vault', createLazyVault(log, masterKeyFile));
  const sessions = keep('sessions', openReactorSessions(databaseUrl, logger));
  const windowTable = keep('windows', openWindowTable(databaseUrl, logger));
  const windows = createSlidingWindows(windowTable);
  const { releases } = keep('releases', createReleaseServices({ log, logger, vault, windows }));
  const blobPlace = () => openBlobPlace(config);
  const egress = async () => {
    const { createGuardedClient } = await import('../egress/guarded-client.ts');
    return keep('egress client', createGuardedClient({ allow: config.egressAllow }));
  };
  return {
    ...{ log, databaseUrl, logger, config, sessions, windows, broker, vault, releases, blobPlace, egress, onSettled },
    positions: followerPositions(log, sessions),
    blobs: openOnce(async () => openBlobStore(await blobPlace(), await vault.open())),
    oauth: async () => {
      const { createOAuthClients } = await import('../oauth/oauth-clients.ts');
      return createOAuthClients({ clients: config.oauth, client: await egress(), publicUrl, logger });
    },
    startRelay: () => startRelayProcess({ task, compileCache: COMPILE_CACHE, logger, onDamage }),
    close,
  };
};

/** `now` returns Unix milliseconds; `intervalMs` replaces the intervals of all reactors. */
export type WorkServices = ReturnType<typeof openWorkServices> & { readonly now?: () => number; readonly intervalMs?: number };
