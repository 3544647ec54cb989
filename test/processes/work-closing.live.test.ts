import { join } from 'node:path';
import { pino } from 'pino';
import { equal } from 'uvu/assert';
import { loadConfig } from '../../infra/config.ts';
import { createWork } from '../../infra/platform/create-work.ts';
import { openWorkServices } from '../../infra/platform/work-services.ts';
import { platformEnvironment } from '../faults/running-platform.ts';
import { waitUntil } from '../fixtures/live-projections.ts';
import { startNatsServer } from '../fixtures/nats-server.ts';
import { startStore } from '../fixtures/store-process.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { readModelDatabase } from '../fixtures/template-database.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

type Line = { readonly level: number; readonly closed?: string; readonly msg: string };

test('work closes what uses a service before the service, in the reverse order of opening, and without a warning', async () => {
  const { dir } = createTempDirectory();
  const [store, broker, databaseUrl] = await Promise.all([startStore({ dir: join(dir, 'store') }), startNatsServer(), readModelDatabase()]);
  afterTest(() => Promise.all([broker.close(), store.end()]));
  const place = { dir, data: join(dir, 'data'), url: 'http://127.0.0.1:1' };
  const { natsUrl, natsAccountSeed } = broker.address;
  const urls = { EVENTSTORE_URL: store.url, DATABASE_URL: databaseUrl, NATS_URL: natsUrl, NATS_ACCOUNT_SEED: natsAccountSeed };
  const lines: Line[] = [];
  const logger = pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const services = openWorkServices(loadConfig({ ...platformEnvironment(place, {}), ...urls }), logger);
  const work = await createWork(services);
  await waitUntil('the relay works', () => work.messaging()?.statuses()[0]?.works, Boolean, 30);
  await Promise.all([services.egress(), services.vault.open(), services.releases()]);
  const before = lines.length;
  await work.close();
  await services.close();
  const during = lines.slice(before);
  equal(
    during.flatMap(({ closed }) => closed ?? []),
    [
      ...['reactors of the broker', 'messaging', 'reactors', 'projections'],
      ...['egress client', 'releases', 'windows', 'sessions', 'vault', 'broker', 'log'],
    ],
  );
  equal(
    during.filter(({ level }) => level >= pino.levels.values.warn!),
    [],
  );
});

test.run();
