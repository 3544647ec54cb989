import { randomBytes } from 'node:crypto';
import { must, type Platform } from './platform.ts';

/** A tenant and a key of its owner. */
export type Tenant = { readonly id: string; readonly key: string };

/** An agent whose deliveries a runner takes. */
export type Agent = { readonly tenant: Tenant; readonly id: string; readonly slug: string; readonly runnerKey: string };

/** Where a provider posts an agent's deliveries to, and what it signs them with. */
export type Hook = { readonly agent: Agent; readonly id: string; readonly path: string; readonly secret: string };

type Made = { id: string };

const makeTenant = async ({ call }: Platform, slug: string): Promise<Tenant> => {
  const fields = { name: slug, slug, owner_email: `${slug}@example.com` };
  const { id, owner_key } = await must<Made & { owner_key: string }>(call('POST', '/admin/tenants', fields));
  return { id, key: owner_key };
};

const makeAgent = async ({ call }: Platform, tenant: Tenant, slug: string): Promise<Agent> => {
  const path = `/tenant/${tenant.id}/agents`;
  const { id } = await must<Made>(call('POST', path, { name: slug, slug }, tenant));
  const { key } = await must<{ key: string }>(call('POST', `${path}/${id}/runner-keys`, { name: 'runner' }, tenant));
  return { tenant, id, slug, runnerKey: key };
};

export const connectGitHub = async ({ call }: Platform, agent: Agent, label: string): Promise<Hook> => {
  const secret = `github-${randomBytes(24).toString('base64url')}`;
  const fields = { provider: 'github', agent_id: agent.id, label, secret };
  const { id } = await must<Made>(call('POST', `/tenant/${agent.tenant.id}/webhook-integrations`, fields, agent.tenant));
  return { agent, id, path: `/hooks/inbound/${id}`, secret };
};

export type Estate = {
  readonly tenants: readonly Tenant[];
  readonly agents: readonly Agent[];
  readonly hooks: readonly Hook[];
};

export type EstateSize = { tenants: number; agents: number; hooks: number };

const times = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** So many tenants, each with so many agents, each with so many GitHub integrations. */
export const makeEstate = async (platform: Platform, size: EstateSize): Promise<Estate> => {
  const tenants = await Promise.all(times(size.tenants).map((index) => makeTenant(platform, `tenant-${index}`)));
  const agents = await Promise.all(
    tenants.flatMap((tenant) => times(size.agents).map((index) => makeAgent(platform, tenant, `agent-${index}`))),
  );
  const hooks = await Promise.all(
    agents.flatMap((agent) => times(size.hooks).map((index) => connectGitHub(platform, agent, `hook ${index}`))),
  );
  return { tenants, agents, hooks };
};
