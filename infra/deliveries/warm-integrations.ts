import type { Logger } from 'pino';
import { connectedIntegrations, INTEGRATIONS_AT_ONCE } from '../../projections/integrations/integration.queries.ts';
import type { Reads } from '../../projections/read-model.ts';

const INTERVAL_MS = 60_000;
const RETRY_DELAY_MS = 5_000;
/** The caches can contain more, so that the preparation does not evict entries that requests use. */
const MAX_INTEGRATIONS = 5_000;

export type WarmingParts = {
  readonly reads: Pick<Reads, 'rows'>;
  /** Loads what is needed to receive a delivery. Takes no time if it is all in memory. */
  readonly prepare: (integration_id: string) => Promise<void>;
  readonly logger: Pick<Logger, 'debug'>;
  /** The maximum number of integrations that are prepared. By default, MAX_INTEGRATIONS. */
  readonly max?: number;
};

/**
 * Prepares for all integrations after the start, and for new ones every minute, so that the spool can take their deliveries even if the
 * event store fails first. One after another, so that requests are not slowed down. `warmed` resolves after the first time.
 */
export const startIntegrationWarming = ({ reads, prepare, logger, max = MAX_INTEGRATIONS }: WarmingParts) => {
  const warmed = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const prepareAll = async (): Promise<void> => {
    let after = '';
    for (let count = 0; count < max && !isClosed; ) {
      const ids = await connectedIntegrations(reads, after);
      for (const id of ids.slice(0, max - count)) if (!isClosed) await prepare(id);
      if (ids.length < INTEGRATIONS_AT_ONCE) return;
      count += ids.length;
      after = ids.at(-1)!;
    }
  };

  const run = async (): Promise<void> => {
    const delay = await prepareAll().then(
      () => {
        warmed.resolve();
        return INTERVAL_MS;
      },
      (error: Error) => {
        logger.debug({ reason: error.message }, 'the integrations cannot be loaded now; trying again');
        return RETRY_DELAY_MS;
      },
    );
    if (!isClosed) timer = setTimeout(start, delay).unref();
  };
  let running = Promise.resolve();
  const start = (): void => {
    running = run();
  };
  start();

  return {
    warmed: warmed.promise,
    close: async (): Promise<void> => {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
};
