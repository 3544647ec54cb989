import { Agent, get } from 'node:http';
import { listen } from '../../infra/http/listen.ts';
import { agents } from '../../projections/agents/agent.ts';
import { dropIndexes, insertSql } from '../fixtures/query-data.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

const CALLS = 300;
const WARM_UP_CALLS = 30;
/** The number of agents that the member may see. */
const AGENTS_OF_MEMBER = 50;
/** The limit for the 99th percentile, in milliseconds. */
export const MAX_P99_MS = 20;

/**
 * The texts to complete. The agents have names of the form `name <number> r<number>`. So some texts match all names,
 * some match a few and some match none.
 */
const TEXTS = ['', 'n', 'name', 'name 4999', 'name 77 r', 'ame', 'r0500', '4999 r', 'zzz', 'no such agent'];

/**
 * The results for one text and caller: the number of items found, and the duration of a request in milliseconds,
 * including HTTP, authentication and the check of permissions.
 */
export type CompletionFigures = {
  readonly caller: string;
  readonly text: string;
  readonly found: number;
  readonly p50: number;
  readonly p99: number;
};

type Platform = Awaited<ReturnType<typeof createTestPlatform>>;

/** Adds a member who has a role on some agents, which have names like those of the other agents. @returns an API key */
const addReader = async (p: Platform): Promise<string> => {
  const member = await addMember(p, 'MEMBER');
  for (let number = 0; number < AGENTS_OF_MEMBER; number++) {
    const made = await p.send('POST', `${p.tenant}/agents`, { body: { name: `name 4999 s${number}`, slug: `agent-${number}` } });
    const { id } = made.body as { id: string };
    await p.send('PUT', `${p.tenant}/agents/${id}/roles/${member.user_id}`, { body: { role: 'VIEWER' } });
  }
  return member.key;
};

const fillAgents = async ({ readModelPool, tenant_id }: Platform, count: number): Promise<void> => {
  const [table] = agents.tables;
  const client = await readModelPool.connect();
  const indexes = await dropIndexes(client, agents.name);
  await client.query(insertSql(agents.name, table, count));
  await client.query(`update agents.${table.name} set tenant_id = $1`, [tenant_id]);
  for (const sql of indexes) await client.query(sql);
  await client.query('vacuum analyze');
  client.release();
};

/**
 * Measures how long requests take that complete names, in a tenant with `count` agents: for an owner, who sees all
 * agents, and for a member, who sees some.
 */
export const autocompleteBench = async (count: number): Promise<CompletionFigures[]> => {
  const p = await createTestPlatform();
  const callers = { owner: p.key, member: await addReader(p) };
  await fillAgents(p, count);
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  const connection = new Agent({ keepAlive: true, maxSockets: 1 });

  const request = (path: string, key: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}` };
      get({ host: '127.0.0.1', port: server.port, path, agent: connection, headers }, async (response) => {
        const body = Buffer.concat(await Array.fromAsync(response)).toString();
        if (response.statusCode === 200) resolve(body);
        else reject(new Error(`${path}: ${response.statusCode} ${body}`));
      }).on('error', reject);
    });

  const figures: CompletionFigures[] = [];
  for (const [caller, key] of Object.entries(callers))
    for (const text of TEXTS) {
      const path = `${p.tenant}/autocomplete?q=${encodeURIComponent(text)}`;
      const times: number[] = [];
      let found = 0;
      for (let call = -WARM_UP_CALLS; call < CALLS; call++) {
        const startedAt = performance.now();
        const body = await request(path, key);
        if (call < 0) continue;
        times.push(performance.now() - startedAt);
        found = (JSON.parse(body) as unknown[]).length;
      }
      times.sort((one, other) => one - other);
      figures.push({ caller, text, found, p50: times[CALLS / 2]!, p99: times[Math.floor(CALLS * 0.99)]! });
    }
  connection.destroy();
  await server.close();
  await p.close();
  return figures;
};
