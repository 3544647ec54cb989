import { join } from 'node:path';
import { freePort } from '../../infra/supervision/ports.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import type { Figures } from './load.ts';
import { nextMessage, runLimitProcess, runLoadProcess, startHelper } from './measure.ts';
import { startCommand } from './platform.ts';
import { type Bench, deliveryRequests } from './workloads.ts';

/** An upper limit for the speed of the platform: the speed of a single driver or server without the platform. */
export type Limit = {
  readonly name: string;
  /** The names of the workloads that are compared with this limit. */
  readonly workloads: readonly string[];
  readonly run: (bench: Bench) => Promise<Figures>;
  /** If true, the median response times (p50) are compared. Otherwise, the rates are compared. */
  readonly comparesP50?: true;
};

const CONCURRENCY = 64;

const measureBareServer = async ({ dataset, warmup, seconds }: Bench): Promise<Figures> => {
  const server = startHelper('bare-server.ts');
  server.send(dataset.integrations.map(({ id, secret }) => ({ id, secret })));
  const port = await nextMessage<number>(server);
  const figures = await runLoadProcess({ port, warmup, seconds, connections: CONCURRENCY, requests: deliveryRequests(dataset, 'each') });
  server.kill();
  return figures;
};

const measureAppend = async ({ warmup, seconds }: Bench): Promise<Figures> => {
  const { dir, clear } = createTempDirectory();
  const port = await freePort();
  const store = startCommand(['store', 'serve', '--dir', join(dir, 'store'), '--port', String(port), '--open']);
  try {
    await store.waitForOutput(/^store ready/m);
    return await runLimitProcess({ kind: 'append', url: `esdb://127.0.0.1:${port}?tls=false`, atOnce: CONCURRENCY, warmup, seconds });
  } finally {
    await store.stop();
    clear();
  }
};

const measureSelect =
  (sql: string, keys: (bench: Bench) => string[][]) =>
  (bench: Bench): Promise<Figures> =>
    runLimitProcess({
      kind: 'select',
      url: bench.platform.databaseUrl(),
      atOnce: CONCURRENCY,
      sql,
      keys: keys(bench),
      warmup: bench.warmup,
      seconds: bench.seconds,
    });

const selectAgent = 'select doc, revision from agents.agents where tenant_id = $1 and id = $2 and not deleted';
const selectPage = `select string_agg(list_doc, ',') from (select list_doc from agents.agents
  where tenant_id = $1 and not deleted order by created_at desc, id desc limit 50) as page`;

const agentKeys = ({ dataset: { agents, tenants } }: Bench): string[][] => agents.map(({ id, tenant }) => [tenants[tenant]!.id, id]);
const tenantKeys = ({ dataset: { tenants } }: Bench): string[][] => tenants.map(({ id }) => [id]);

const measurePublish = ({ platform, warmup, seconds }: Bench): Promise<Figures> =>
  runLimitProcess({
    kind: 'publish',
    url: platform.natsUrl(),
    credentials: Buffer.from(platform.natsCredentials()).toString(),
    rate: 100,
    warmup,
    seconds,
  });

export const limits: readonly Limit[] = [
  { name: 'select of one row, 64 at once', workloads: ['W4'], run: measureSelect(selectAgent, agentKeys) },
  { name: 'select of a page of 50, 64 at once', workloads: ['W5'], run: measureSelect(selectPage, tenantKeys) },
  { name: 'append of 2 KB, 64 at once', workloads: ['W1', 'W2', 'W3'], run: measureAppend },
  { name: 'bare Hono with HMAC', workloads: ['W1', 'W2'], run: measureBareServer },
  { name: 'publish to JetStream, 100/s', workloads: ['W6'], run: measurePublish, comparesP50: true },
];
