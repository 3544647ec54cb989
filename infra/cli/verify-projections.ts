import { pino } from 'pino';
import { projections } from '../../projections/registry.ts';
import type { Config } from '../config.ts';
import { openLog } from '../eventstore/client.ts';
import { openPool } from '../postgres/pool.ts';
import { checkDrift } from '../projector/drift-check.ts';
import { locateServices } from './locate-services.ts';

/** Folds every row again from the log and compares. Resolves to the exit code: 1 where a row is not what the log makes of it. */
export const verify = async (config: Config): Promise<number> => {
  const { eventstoreUrl, databaseUrl } = locateServices(config);
  const log = openLog(eventstoreUrl);
  const pool = openPool(databaseUrl, pino({ level: 'silent' }), 'verify', { max: 1 });
  let drifted = 0;
  try {
    for (const projection of projections) {
      const report = await checkDrift(log, pool, projection, 'all');
      drifted += report.drifted.length;
      console.log(
        `${report.drifted.length === 0 ? 'ok  ' : 'FAIL'}  ${projection.name.padEnd(20)} ${report.position ? `${report.checked} rows at ${report.position}` : 'nothing to check: no rows of this version yet'}`,
      );
      for (const { table, key, columns, event } of report.drifted)
        console.log(
          `      ${table} ${JSON.stringify(key)} differs in ${columns.join(', ')}${event ? `, first from ${event.stream}@${event.revision} (${event.type}) on` : ''}`,
        );
    }
  } finally {
    await Promise.all([log.close(), pool.end()]);
  }
  console.log(drifted === 0 ? 'every row is what the log makes of it' : `${drifted} rows are not what the log makes of them`);
  return drifted === 0 ? 0 : 1;
};
