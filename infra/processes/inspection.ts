import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { projections } from '../../projections/registry.ts';
import type { Config } from '../config.ts';
import { makeDirectory, replaceFile } from '../durable-files.ts';
import { openLog } from '../eventstore/client.ts';
import { createCorruptionReporter, createLogger } from '../logging/logger.ts';
import { startProjections } from '../projector/projector.ts';
import { RELAY_REACTOR } from '../projector/reactor-status.ts';

const markerIn = (annalsData: string): string => join(annalsData, 'inspection.json');

/** Returns whether the data directory contains an imported export. Such a platform may only be read. */
export const isForInspection = (annalsData: string): boolean => existsSync(markerIn(annalsData));

/** Marks a data directory so that its platform may only be read. */
export const markForInspection = (annalsData: string, imported: object): void => {
  makeDirectory(annalsData);
  replaceFile(markerIn(annalsData), `${JSON.stringify(imported)}\n`);
};

/** Runs the projections, but no reactors. So nothing in the imported events is scheduled, called, sent, renewed or signed again. */
export const workForInspection = async (config: Config): Promise<{ readonly close: () => Promise<void> }> => {
  const logger = createLogger(config, 'work');
  const log = openLog(config.eventstoreUrl!, { onDamage: createCorruptionReporter(logger).report });
  // Nothing is published, so no delivery waits for a relay.
  const reactors = () => [{ name: RELAY_REACTOR, works: true, reason: null }];
  const projector = await startProjections({ log, databaseUrl: config.databaseUrl!, projections, logger, reactors });
  logger.info('working for inspection: only projections run');
  return {
    close: async () => {
      await projector.close();
      await log.close();
    },
  };
};
