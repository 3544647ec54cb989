import { join } from 'node:path';
import { freePort } from '../../infra/supervision/ports.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import type { Figures } from './load.ts';
import { heardFrom, helper, limitApart, loadApart } from './measure.ts';
import { annals } from './platform.ts';
import { type Bench, deliveryVolley } from './workloads.ts';

/** What the ground itself can do, with no service in between. */
export type Limit = {
  readonly name: string;
  /** The workloads that stand on it. */
  readonly under: readonly string[];
  readonly run: (bench: Bench) => Promise<Figures>;
  /** Judged by its p50, not by its rate. */
  readonly byTime?: true;
};

const AT_ONCE = 64;

const bareHono = async ({ fixture, warmup, seconds }: Bench): Promise<Figures> => {
  const server = helper('bare-server.ts');
  server.send(fixture.integrations.map(({ id, secret }) => ({ id, secret })));
  const port = await heardFrom<number>(server);
  const figures = await loadApart({ port, warmup, seconds, connections: AT_ONCE, volley: deliveryVolley(fixture, 'each') });
  server.kill();
  return figures;
};

const rawAppend = async ({ warmup, seconds }: Bench): Promise<Figures> => {
  const { dir, clear } = createTempDirectory();
  const port = await freePort();
  const store = annals(['store', 'serve', '--dir', join(dir, 'store'), '--port', String(port), '--open']);
  try {
    await store.waitForOutput(/^store ready/m);
    return await limitApart({ kind: 'append', url: `esdb://127.0.0.1:${port}?tls=false`, atOnce: AT_ONCE, warmup, seconds });
  } finally {
    await store.stop();
    clear();
  }
};

const selects =
  (sql: string, keys: (bench: Bench) => string[][]) =>
  (bench: Bench): Promise<Figures> =>
    limitApart({
      kind: 'select',
      url: bench.annals.databaseUrl(),
      atOnce: AT_ONCE,
      sql,
      keys: keys(bench),
      warmup: bench.warmup,
      seconds: bench.seconds,
    });

const one = 'select doc, revision from agents.agents where tenant_id = $1 and id = $2 and not deleted';
const page = `select string_agg(list_doc, ',') from (select list_doc from agents.agents
  where tenant_id = $1 and not deleted order by created_at desc, id desc limit 50) as page`;

const agentKeys = ({ fixture: { agents, tenants } }: Bench): string[][] => agents.map(({ id, tenant }) => [tenants[tenant]!.id, id]);
const tenantKeys = ({ fixture: { tenants } }: Bench): string[][] => tenants.map(({ id }) => [id]);

const rawPublish = ({ annals: platform, warmup, seconds }: Bench): Promise<Figures> =>
  limitApart({
    kind: 'publish',
    url: platform.natsUrl(),
    credentials: Buffer.from(platform.natsCredentials()).toString(),
    rate: 100,
    warmup,
    seconds,
  });

export const limits: readonly Limit[] = [
  { name: 'select of one row, 64 at once', under: ['W4'], run: selects(one, agentKeys) },
  { name: 'select of a page of 50, 64 at once', under: ['W5'], run: selects(page, tenantKeys) },
  { name: 'append of 2 KB, 64 at once', under: ['W1', 'W2', 'W3'], run: rawAppend },
  { name: 'bare Hono with HMAC', under: ['W1', 'W2'], run: bareHono },
  { name: 'publish to JetStream, 100/s', under: ['W6'], run: rawPublish, byTime: true },
];
