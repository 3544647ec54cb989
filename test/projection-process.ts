import { pino } from 'pino';
import { openLog } from '../infra/eventstore/client.ts';
import { startProjections } from '../infra/postgres/worker.ts';
import { ideasOf } from './projection-given.ts';

/** A worker in a process of its own, to be killed: `node projection-process.ts <log> <database> <category>`. */
const [eventstoreUrl, databaseUrl, category] = process.argv.slice(2) as [string, string, string];
const worker = await startProjections({
  log: openLog(eventstoreUrl),
  databaseUrl,
  projections: [ideasOf(category)],
  logger: pino({ level: 'warn' }, pino.destination(2)),
});
const timer = setInterval(() => {
  if (worker.status().every(({ state }) => state !== 'live')) return;
  console.log('live');
  clearInterval(timer);
}, 5);
console.log('started');
