import { agentBody } from './payload.ts';

/** What the workloads may address. */
export type Fixture = {
  readonly tenants: readonly { readonly id: string; readonly key: string }[];
  readonly agents: readonly { readonly id: string; readonly tenant: number }[];
  readonly integrations: readonly { readonly id: string; readonly secret: string; readonly tenant: number; readonly agent: string }[];
};

export type Sizes = { readonly tenants: number; readonly agents: number; readonly integrations: number };

const AT_ONCE = 64;

type Resource = { readonly id: string };
type Called = { readonly status: number; readonly headers: Headers; readonly text: string };

/** One request to the platform. Its answer may be any; `posted` is for those that have to succeed. */
export const call = async (
  port: number,
  key: string,
  method: string,
  path: string,
  body?: string,
  headers: Record<string, string> = {},
) => {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...type, ...headers },
    ...(body === undefined ? {} : { body }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() } satisfies Called;
};

const posted = async <T extends Resource>(port: number, key: string, path: string, body: string): Promise<T & { token: string }> => {
  const { status, headers, text } = await call(port, key, 'POST', path, body);
  if (status !== 201) throw new Error(`POST ${path} was answered with ${status}: ${text}`);
  return { ...(JSON.parse(text) as T), token: headers.get('consistency-token') ?? '' };
};

/** Makes `count` things, so many at once, in the order of their numbers. */
const made = async <T>(count: number, make: (number: number) => Promise<T>): Promise<T[]> => {
  const all: T[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let number = next++; number < count; number = next++) all[number] = await make(number);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, count) }, work));
  return all;
};

const tenantBody = (number: number): string =>
  JSON.stringify({ name: `Tenant ${number}`, slug: `tenant-${number}`, owner_email: `owner-${number}@example.test` });

const integrationBody = (number: number, agent_id: string, secret: string): string =>
  JSON.stringify({ provider: 'github', agent_id, label: `Integration ${number}`, secret });

/** Waits until a view shows what the token stands for, ten minutes at most. */
export const shown = async (port: number, key: string, path: string, token: string): Promise<void> => {
  const end = Date.now() + 600_000;
  for (;;) {
    const { status, text } = await call(port, key, 'GET', path, undefined, { 'consistency-token': token });
    if (status === 200) return;
    if (status !== 503 || Date.now() > end) throw new Error(`GET ${path} was answered with ${status}: ${text}`);
  }
};

/** Fills an empty platform over its own interface, and waits until its views show it. */
export const fill = async (port: number, platformKey: string, sizes: Sizes): Promise<Fixture> => {
  const tenants = await made(sizes.tenants, async (number) => {
    const { id, owner_key: key } = await posted<Resource & { owner_key: string }>(port, platformKey, '/admin/tenants', tenantBody(number));
    return { id, key };
  });
  const at = (number: number) => tenants[number % tenants.length]!;
  const agents = await made(sizes.agents, async (number) => {
    const { id, key } = at(number);
    const agent = await posted(port, key, `/tenant/${id}/agents`, agentBody(`seed-${number}`));
    return { id: agent.id, tenant: number % tenants.length, token: agent.token };
  });
  const integrations = await made(sizes.integrations, async (number) => {
    const { id, key } = at(number);
    const [agent, secret] = [agents[number % agents.length]!.id, `a secret of many characters: ${number}`];
    const hook = await posted(port, key, `/tenant/${id}/webhook-integrations`, integrationBody(number, agent, secret));
    return { id: hook.id, secret, tenant: number % tenants.length, agent, token: hook.token };
  });
  const last = integrations.at(-1) ?? agents.at(-1);
  const [{ id, key }] = [at(0)];
  if (last) await shown(port, key, `/tenant/${id}/agents?limit=1`, last.token);
  return { tenants, agents, integrations };
};
