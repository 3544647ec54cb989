import { agentBody } from './payload.ts';

/**
 * The resources that the workloads use. In it, `tenant` is an index in `tenants`, and `agent` is the id of an agent.
 */
export type Dataset = {
  readonly tenants: readonly { readonly id: string; readonly key: string }[];
  readonly agents: readonly { readonly id: string; readonly tenant: number }[];
  readonly integrations: readonly { readonly id: string; readonly secret: string; readonly tenant: number; readonly agent: string }[];
};

export type DatasetSize = { readonly tenants: number; readonly agents: number; readonly integrations: number };

const CONCURRENCY = 64;

type Resource = { readonly id: string };
type CallResult = { readonly status: number; readonly headers: Headers; readonly text: string };

/** Sends one request to the platform and returns the response, whatever its status is. */
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
  return { status: response.status, headers: response.headers, text: await response.text() } satisfies CallResult;
};

const create = async <T extends Resource>(port: number, key: string, path: string, body: string): Promise<T & { token: string }> => {
  const { status, headers, text } = await call(port, key, 'POST', path, body);
  if (status !== 201) throw new Error(`POST ${path} returned ${status}: ${text}`);
  return { ...(JSON.parse(text) as T), token: headers.get('consistency-token') ?? '' };
};

/**
 * Creates `count` resources, up to 64 at a time. `make` creates one of them. @returns the resources, ordered by number
 */
const createAll = async <T>(count: number, make: (number: number) => Promise<T>): Promise<T[]> => {
  const created: T[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let number = next++; number < count; number = next++) created[number] = await make(number);
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, count) }, work));
  return created;
};

const tenantBody = (number: number): string =>
  JSON.stringify({ name: `Tenant ${number}`, slug: `tenant-${number}`, owner_email: `owner-${number}@example.test` });

const integrationBody = (number: number, agent_id: string, secret: string): string =>
  JSON.stringify({ provider: 'github', agent_id, label: `Integration ${number}`, secret });

/**
 * Waits until the read model behind `path` includes the event at the position of the consistency token. @throws after
 * ten minutes, or if the response status is neither 200 nor 503
 */
export const waitUntilVisible = async (port: number, key: string, path: string, token: string): Promise<void> => {
  const end = Date.now() + 600_000;
  for (;;) {
    const { status, text } = await call(port, key, 'GET', path, undefined, { 'consistency-token': token });
    if (status === 200) return;
    if (status !== 503 || Date.now() > end) throw new Error(`GET ${path} returned ${status}: ${text}`);
  }
};

/** Fills an empty platform through its HTTP API, and waits until the read model of agents includes all events. */
export const fillPlatform = async (port: number, platformKey: string, sizes: DatasetSize): Promise<Dataset> => {
  const tenants = await createAll(sizes.tenants, async (number) => {
    const { id, owner_key: key } = await create<Resource & { owner_key: string }>(port, platformKey, '/admin/tenants', tenantBody(number));
    return { id, key };
  });
  const tenantAt = (number: number) => tenants[number % tenants.length]!;
  const agents = await createAll(sizes.agents, async (number) => {
    const { id, key } = tenantAt(number);
    const agent = await create(port, key, `/tenant/${id}/agents`, agentBody(`seed-${number}`));
    return { id: agent.id, tenant: number % tenants.length, token: agent.token };
  });
  const integrations = await createAll(sizes.integrations, async (number) => {
    const { id, key } = tenantAt(number);
    const [agent, secret] = [agents[number % agents.length]!.id, `a secret of many characters: ${number}`];
    const integration = await create(port, key, `/tenant/${id}/webhook-integrations`, integrationBody(number, agent, secret));
    return { id: integration.id, secret, tenant: number % tenants.length, agent, token: integration.token };
  });
  const last = integrations.at(-1) ?? agents.at(-1);
  const [{ id, key }] = [tenantAt(0)];
  if (last) await waitUntilVisible(port, key, `/tenant/${id}/agents?limit=1`, last.token);
  return { tenants, agents, integrations };
};
