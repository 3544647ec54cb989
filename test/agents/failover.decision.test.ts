import { test } from 'uvu';
import { equal } from 'uvu/assert';
import type { AgentModel } from '../../domain/agents/agent.ts';
import { modelsAfterFailover } from '../../domain/agents/failover.ts';
import * as Model from '../../domain/agents/model.ts';

const model = (id: string, fields: Partial<Model.Model> = {}): Model.Model => ({ ...Model.initial, id, status: 'active', ...fields });
const disabled = (id: string, ...failover_chain: string[]) => model(id, { status: 'disabled', failover_chain });
const link = (model_id: string, access: AgentModel['access'] = 'full'): AgentModel => ({ model_id, access, created_at: '' });

const used = (chain: AgentModel[], ...models: Model.Model[]) =>
  modelsAfterFailover(chain, 't', (id) => models.find((one) => one.id === id)).map(({ model: { id }, access, priority }) => [
    id,
    access,
    priority,
  ]);

test('if all models of a chain can be used, they stay in their order and keep their access levels', () =>
  equal(used([link('a'), link('b', 'read_only')], model('a'), model('b', { status: 'deprecated' })), [
    ['a', 'full', 0],
    ['b', 'read_only', 1],
  ]));

test('a disabled model is replaced by the first usable model of its failover chain; the replacement gets the access level of the disabled model', () =>
  equal(used([link('a', 'read_only'), link('d')], disabled('a', 'b', 'c'), disabled('b'), model('c'), model('d')), [
    ['c', 'read_only', 0],
    ['d', 'full', 1],
  ]));

test("if a disabled model's failover chain contains another disabled model, the failover chain of that other model is tried before the next entry", () =>
  equal(used([link('a')], disabled('a', 'b', 'd'), disabled('b', 'c'), model('c'), model('d')), [['c', 'full', 0]]));

test('a disabled model without a usable failover model is left out, and the models after it move up', () =>
  equal(used([link('a'), link('b')], disabled('a', 'x'), model('b')), [['b', 'full', 0]]));

test('if failover chains form a cycle, each model of the cycle is tried only once', () =>
  equal(used([link('a'), link('c')], disabled('a', 'b'), disabled('b', 'a'), model('c')), [['c', 'full', 0]]));

test("if a replacement model is also in the agent's chain, the resulting chain contains it once, with the access level that it has in the agent's chain", () =>
  equal(used([link('a'), link('b', 'read_only')], disabled('a', 'b'), model('b')), [['b', 'read_only', 0]]));

test('a model that is not available to the tenant is replaced by its failover model, as a disabled model is', () => {
  const closed = model('a', { available_to_all_tenants: false, failover_chain: ['b', 'c'] });
  const opened = model('c', { available_to_all_tenants: false, open_to: { t: 'since' } });
  equal(used([link('a')], closed, model('b', { available_to_all_tenants: false }), opened), [['c', 'full', 0]]);
});

test.run();
