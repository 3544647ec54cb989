import type { Ask } from '../../http/ask.ts';
import { isRead, type Operation, type Operations } from '../../http/operation.ts';
import { nextCursor } from '../parts/pager.ts';
import type { Visit } from '../visit.ts';
import type { Form } from './form.ts';
import type { Choices } from './form-controls.ts';

/**
 * For each field that contains an id: the operation that lists the possible resources, and the fields by which people
 * recognise a resource. With `ofTenant`, resources that belong to an agent are left out.
 */
type Source = { readonly list: string; readonly id?: string; readonly names: readonly string[]; readonly ofTenant?: true };
const SOURCES: Readonly<Record<string, Source>> = {
  agent_id: { list: 'listAgents', names: ['name'] },
  target_agent_id: { list: 'listAgents', names: ['name'] },
  user_id: { list: 'listMembers', id: 'user_id', names: ['name', 'email'] },
  new_owner_id: { list: 'listMembers', id: 'user_id', names: ['name', 'email'] },
  model_id: { list: 'listModels', names: ['name', 'slug'] },
  skill_id: { list: 'listSkills', names: ['name'] },
  identity_id: { list: 'listLinkedIdentities', names: ['label'], ofTenant: true },
  tool_id: { list: 'listTools', names: ['display_name', 'name'] },
  integration_id: { list: 'listWebhookIntegrations', names: ['label'] },
  tenant_id: { list: 'listTenants', names: ['name', 'slug'] },
  plan_id: { list: 'listPlans', names: ['name'] },
  benchmark: { list: 'listBenchmarks', id: 'slug', names: ['display_name'] },
};

const MAX_CHOICES = 200;

type Item = Readonly<Record<string, unknown>>;

const sourcesOf = ({ path, body }: Form, given: Readonly<Record<string, string>>): readonly string[] => {
  const names = body?.kind === 'group' ? body.fields.map(({ name, kind }) => (kind === 'lines' ? name.replace(/s$/, '') : name)) : [];
  return [...new Set([...path.filter((name) => !given[name]), ...names])].filter((name) => SOURCES[name]?.list);
};

/**
 * Reads the resources that can be chosen in the id fields of a form. A list is left out if it is too long, or if the
 * visitor may not read it; the visitor must then type the id.
 */
export const readChoices = async (
  visit: Visit,
  form: Form,
  { operations, params }: { readonly operations: Operations; readonly params: Readonly<Record<string, string>> },
): Promise<Choices> => {
  const ask = visit.ask as unknown as (row: Operation, sent: object) => ReturnType<Ask>;
  const read = async (name: string): Promise<Choices> => {
    const { list, id = 'id', names, ofTenant } = SOURCES[name]!;
    const row = operations[list];
    const needsTenant = row?.path.includes(':tenant_id') ?? false;
    if (!row || !isRead(row) || (needsTenant && !params.tenant_id) || !visit.may(String(row.permit))) return {};
    const isPaged = Object.hasOwn((row.query as { shape?: object } | undefined)?.shape ?? {}, 'limit');
    const answer = await ask(row, { ...(needsTenant ? { tenant_id: params.tenant_id } : {}), ...(isPaged ? { limit: MAX_CHOICES } : {}) });
    if (!answer.ok || !Array.isArray(answer.value) || nextCursor(answer) !== null) return {};
    const all: readonly Item[] = answer.value;
    const items = ofTenant ? all.filter(({ agent_id }) => agent_id === null) : all;
    const nameOf = (item: Item) => String(names.map((one) => item[one]).find((one) => typeof one === 'string' && one !== '') ?? item[id]);
    return { [name]: items.map((item) => [String(item[id]), nameOf(item)] as const) };
  };
  const all = await Promise.all(sourcesOf(form, params).map(read));
  return Object.assign({}, ...all) as Choices;
};
