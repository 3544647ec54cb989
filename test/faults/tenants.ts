import { randomBytes } from 'node:crypto';
import { expectReply, type RunningPlatform } from './running-platform.ts';

/** A tenant and an API key of its owner. */
export type Tenant = { readonly id: string; readonly slug: string; readonly key: string };

/** An agent and the API key of its runner. */
export type Agent = { readonly tenant: Tenant; readonly id: string; readonly slug: string; readonly runnerKey: string };

/** A webhook integration. `path` is the path to which the provider posts deliveries, and `secret` signs them. */
export type Hook = { readonly agent: Agent; readonly id: string; readonly path: string; readonly secret: string };

type Created = { id: string };

const randomSlug = (): string => `tenant-${randomBytes(4).toString('hex')}`;

export const createTenant = async ({ call }: RunningPlatform, slug = randomSlug()): Promise<Tenant> => {
  const fields = { name: slug, slug, owner_email: `${slug}@example.com` };
  const { id, owner_key } = await expectReply<Created & { owner_key: string }>(call('POST', '/admin/tenants', fields));
  return { id, slug, key: owner_key };
};

export const createAgent = async ({ call }: RunningPlatform, tenant: Tenant, slug: string): Promise<Agent> => {
  const path = `/tenant/${tenant.id}/agents`;
  const { id } = await expectReply<Created>(call('POST', path, { name: slug, slug }, tenant));
  const { key } = await expectReply<{ key: string }>(call('POST', `${path}/${id}/runner-keys`, { name: 'runner' }, tenant));
  return { tenant, id, slug, runnerKey: key };
};

const connectGitHub = async ({ call }: RunningPlatform, agent: Agent, label: string): Promise<Hook> => {
  const secret = `github-${randomBytes(24).toString('base64url')}`;
  const fields = { provider: 'github', agent_id: agent.id, label, secret };
  const { id } = await expectReply<Created>(call('POST', `/tenant/${agent.tenant.id}/webhook-integrations`, fields, agent.tenant));
  return { agent, id, path: `/hooks/inbound/${id}`, secret };
};

export type Dataset = {
  readonly tenants: readonly Tenant[];
  readonly agents: readonly Agent[];
  readonly hooks: readonly Hook[];
};

export type DatasetSize = { tenants: number; agents: number; hooks: number };

const times = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/**
 * Creates tenants, agents for each tenant, and GitHub integrations for each agent. `size` has the number of each. The
 * tenants' slugs begin with `prefix`; by default, they are random.
 */
export const createDataset = async (platform: RunningPlatform, size: DatasetSize, prefix = randomSlug()): Promise<Dataset> => {
  const tenants = await Promise.all(times(size.tenants).map((index) => createTenant(platform, `${prefix}-${index}`)));
  const agents = await Promise.all(
    tenants.flatMap((tenant) => times(size.agents).map((index) => createAgent(platform, tenant, `agent-${index}`))),
  );
  const hooks = await Promise.all(
    agents.flatMap((agent) => times(size.hooks).map((index) => connectGitHub(platform, agent, `hook ${index}`))),
  );
  return { tenants, agents, hooks };
};
